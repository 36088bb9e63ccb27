// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"
)

// torchtuneQuantized are the builders of models with 4-bit weights.
var torchtuneQuantized = quantizedBuilders(torchtuneModels)

func quantizedBuilders(builders []Term) []Term {
	var out []Term
	for _, b := range builders {
		if strings.Contains(b.File, ".qlora_") {
			out = append(out, Term{b.File, "4 bits"})
		}
	}
	return out
}

// torchtuneBuilders returns each builder with its LoRA variants, as named in configs:
// torchtune.models.llama3_2.lora_llama3_2_1b.
func torchtuneBuilders(models map[string]string) []Term {
	var out []Term
	for builder, model := range models {
		module, function, _ := strings.Cut(builder, ".")
		variants := []string{"", "lora_", "qlora_"}
		if strings.HasPrefix(module, "qwen") || module == "smol" {
			variants = variants[:2] // torchtune has no quantized variants of these models
		}
		for _, variant := range variants {
			out = append(out, Term{"torchtune.models." + module + "." + variant + function, model})
		}
	}
	slices.SortFunc(out, func(a, b Term) int { return strings.Compare(a.File, b.File) })
	return out
}
