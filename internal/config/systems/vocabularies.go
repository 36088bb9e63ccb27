// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"
	"strings"
)

// Vocabularies that several systems share. Other optimizer names are in optimizers.go, types in
// weight_types.go.

// hfOptimizers are transformers' OptimizerNames (training_args.py, 5.22).
var hfOptimizers = []Term{
	{"adamw_torch", "adamw"},
	{"adamw_torch_fused", "adamw-fused"},
	{"paged_adamw_32bit", "adamw-fused"}, // two states per weight, and one kernel without temporary copies
	{"adamw_hf", "adamw-loop"},           // until 4.50
	{"sgd", "sgd"},
	{"adafactor", "adafactor"}, {"adagrad", "adagrad"}, {"rmsprop", "rmsprop"},
	{"adamw_bnb_8bit", "adamw-8bit"},
	{"adamw_torch_8bit", "adamw-torchao-8bit"},
	{"adamw_8bit", "adamw-8bit"},
	{"paged_adamw_8bit", "adamw-8bit"},
	{"lion_32bit", "lion"},
	{"paged_lion_32bit", "lion"},
	{"lion_8bit", "lion-8bit"},
	{"paged_lion_8bit", "lion-8bit"},
}

// hfAttention are the values of attn_implementation.
var hfAttention = []Term{
	{"sdpa", "sdpa"},
	{"eager", "eager"},
	{"flash_attention_2", "flash"},
	{"flash_attention_3", "flash"},
	{"kernels-community/flash-attn2", "flash"},
	{"kernels-community/flash-attn", "flash"},
	{"kernels-community/vllm-flash-attn3", "flash"},
}

// lightningPrecision are the values of Lightning's --trainer.precision (fabric's _PRECISION_INPUT, 2.6), old
// short names last.
var lightningPrecision = []Term{
	{"32-true", "fp32"},
	{"bf16-mixed", "amp-bf16"},
	{"16-mixed", "amp-fp16"},
	{"bf16-true", "bf16"},
	{"16-true", "fp16"},
	{"32", "fp32"},
	{"bf16", "amp-bf16"},
	{"16", "amp-fp16"},
}

// mixedPrecision are the values of mixed_precision in accelerate and kohya.
var mixedPrecision = []Term{
	{"no", "fp32"},
	{"false", "fp32"}, // YAML 1.1 reads a bare no as false
	{"bf16", "amp-bf16"},
	{"fp16", "amp-fp16"},
}

// weightTypes are the words for the type of the weights themselves.
var weightTypes = []Term{
	{"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"},
	{"fp32", "fp32"}, {"bf16", "bf16"}, {"fp16", "fp16"},
	{"torch.float32", "fp32"}, {"torch.bfloat16", "bf16"}, {"torch.float16", "fp16"},
}

// lightningOnly are the names in lightningPrecision that no other program uses. A file that contains one is for
// Lightning, which also accepts the other names.
var lightningOnly = lightningPrecision[:5]

// torchNames are PyTorch's own names for types.
var torchNames = slices.DeleteFunc(slices.Clone(weightTypes), func(t Term) bool { return !strings.Contains(t.File, "float") })

// plainPrecision are the values of "precision" in users' own files: Lightning's names, and short ones that
// mean autocast. They are only read, because it is unknown which of them a program accepts.
var plainPrecision = append(lightningPrecision[:len(lightningPrecision):len(lightningPrecision)],
	Term{"fp32", "fp32"}, Term{"float32", "fp32"}, Term{"full", "fp32"}, Term{"no", "fp32"}, Term{"none", "fp32"}, Term{"false", "fp32"},
	Term{"fp16", "amp-fp16"}, Term{"float16", "amp-fp16"}, Term{"bfloat16", "amp-bf16"},
	Term{"amp-bf16", "amp-bf16"}, Term{"amp-fp16", "amp-fp16"},
	Term{"amp_bf16", "amp-bf16"}, Term{"amp_fp16", "amp-fp16"}, Term{"amp", "amp-fp16"},
)

// zeroStages are the values of DeepSpeed's zero_optimization.stage.
var zeroStages = []Term{{"0", "ddp"}, {"1", "zero1-deepspeed"}, {"2", "zero2"}, {"3", "zero3"}}

// Meaning returns the meaning of a word in a file; ok is false if it is unknown.
func Meaning(words []Term, file string) (means string, ok bool) {
	for _, w := range words {
		if w.File == file {
			return w.Means, true
		}
	}
	return "", false
}

// Understand returns the meaning of a key's word, ignoring case; ok is false if it is unknown.
func (k *Key) Understand(text string) (means string, ok bool) {
	for _, words := range [][]Term{k.Words, k.Reads} {
		for _, t := range []string{text, strings.ToLower(text)} {
			if means, ok = Meaning(words, t); ok {
				return means, true
			}
		}
	}
	return "", false
}

// Spelling returns the word for a meaning in a file. It keeps the current word if that has the meaning, and
// otherwise prefers "" (null) or a word in the same style; ok is false if no word has the meaning.
func Spelling(words []Term, means, current string) (file string, ok bool) {
	if m, known := Meaning(words, current); known && m == means {
		return current, true
	}
	for _, w := range words {
		if m, _ := Meaning(words, w.File); w.Means != means || m != means {
			continue // an earlier term uses the word for something else
		}
		if !ok || file != "" && style(file) != style(current) && style(w.File) == style(current) {
			file, ok = w.File, true
		}
	}
	return file, ok
}

// style classifies how a type is spelled: bf16-mixed, amp_bf16, torch.bfloat16, bfloat16, bf16, 16.
func style(w string) string {
	switch {
	case strings.HasSuffix(w, "-mixed"), strings.HasSuffix(w, "-true"):
		return "lightning"
	case strings.Contains(w, "."):
		return "class"
	case strings.Contains(w, "_"):
		return "underscore"
	case strings.Contains(w, "float"):
		return "dtype"
	case strings.Trim(w, "0123456789") == "":
		return "digits"
	case w != strings.ToLower(w):
		return "upper"
	}
	return "short"
}

// ZeroStage returns the kind of data parallelism of a DeepSpeed stage, or "" for none.
func ZeroStage(stage string) string {
	kind, _ := Meaning(zeroStages, stage)
	return kind
}
