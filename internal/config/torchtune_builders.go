// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
)

// torchtuneQuantized is the builders whose weights are of 4 bits.
var torchtuneQuantized = quantizedBuilders(torchtuneModels)

func quantizedBuilders(builders []word) []word {
	var out []word
	for _, b := range builders {
		if strings.Contains(b.file, ".qlora_") {
			out = append(out, word{b.file, "4 bits"})
		}
	}
	return out
}

// torchtuneBuilders writes each builder out with its LoRA variants, as configs
// name them: torchtune.models.llama3_2.lora_llama3_2_1b.
func torchtuneBuilders(models map[string]string) []word {
	var out []word
	for builder, model := range models {
		module, function, _ := strings.Cut(builder, ".")
		for _, variant := range []string{"", "lora_", "qlora_"} {
			out = append(out, word{"torchtune.models." + module + "." + variant + function, model})
		}
	}
	slices.SortFunc(out, func(a, b word) int { return strings.Compare(a.file, b.file) })
	return out
}
