// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"

	"snug/internal/spelling"
)

// othersWords maps words that trainers and people use for a setting's values, by JSON key. They are not accepted,
// because a setup has one word for each thing, but the error suggests the right one.
var othersWords = map[string]map[string]string{
	"precision": {
		"bf16-mixed": "amp-bf16", "16-mixed": "amp-fp16", "fp16-mixed": "amp-fp16", "bf16-amp": "amp-bf16", "fp16-amp": "amp-fp16",
		"amp": "amp-fp16", "mixed": "amp-bf16", "bf16-true": BF16, "16-true": FP16, "32-true": FP32, "32": FP32, "16": FP16, "no": FP32,
		"float32": FP32, "float16": FP16, "half": FP16, "bfloat16": BF16, "float": FP32,
	},
	"optimizer": {
		"adamw_torch": "adamw", "adamw_torch_fused": "adamw-fused", "adamw_hf": "adamw-loop", "adamw_8bit": "adamw-8bit", "adamw_torch_8bit": "adamw-torchao-8bit",
		"adamw_bnb_8bit": "adamw-8bit", "paged_adamw_8bit": "adamw-8bit", "fused-adamw": "adamw-fused", "momentum": "sgd-momentum",
	},
	"attention": {"flash_attention_2": Flash, "flash-attention-2": Flash, "fa2": Flash, "flash2": Flash, "math": "eager", "default": "sdpa"},
	"kernel":    {"triton_v2": TritonV2, "tritonv2": TritonV2, "auto_trainable": GPTQModel},
	"kind":      {"fsdp": "fsdp2", "deepspeed": "zero2", "dp": "ddp", "full_shard": "fsdp2", "shard_grad_op": "fsdp2-noreshard"},
}

// unsimulatedWords are values of a setting that exist elsewhere and that snug does not simulate, by JSON key. Suggesting a
// similar word would be wrong.
var unsimulatedWords = map[string][]string{
	"optimizer": {
		"muon", "shampoo", "soap", "sophia", "prodigy", "lamb", "lars", "came", "adan", "apollo", "galore", "adadelta", "lbfgs",
		"rprop", "asgd", "adabelief", "adamw-4bit", "adamw-torch-4bit", "schedule-free", "adamw-schedulefree", "sgd-schedulefree",
	},
	"method": {"hqq", "aqlm", "eetq", "fp8", "torchao", "quanto", "vptq", "higgs"},
	"tuner": {
		"boft", "fourierft", "vblora", "hra", "bone", "llama-adapter",
	},
}

// wordHint suggests the intended word for a setting's value, or lists all words.
func wordHint(key, given string, words []string) string {
	if meant := othersWords[key][strings.ToLower(given)]; meant != "" {
		return "; did you mean " + meant + "?"
	}
	if slices.Contains(unsimulatedWords[key], strings.ReplaceAll(strings.ToLower(given), "_", "-")) {
		return "; snug does not simulate it, so measure the run: snug profile -- <your command>"
	}
	return spelling.Hint(given, words, "known: "+strings.Join(words, ", "))
}
