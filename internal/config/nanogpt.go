// SPDX-License-Identifier: Apache-2.0

package config

import "snug/internal/config/doc"

const nanogptTrain = "karpathy/nanoGPT, train.py"

// nanogpt is Python files that only assign, as nanoGPT's configurator runs
// them. gradient_accumulation_steps counts over all GPUs: train.py divides it.
var nanogpt = Adapter{
	Name: "nanogpt", Title: "nanoGPT", Formats: []doc.Format{doc.Python},
	Signs: []string{"batch_size block_size", "batch_size gradient_accumulation_steps", "init_from"},
	Keys: []Key{
		{Setting: "model", Path: "init_from", Kind: Word, Source: nanogptTrain,
			Words: []word{{"gpt2", "gpt2"}, {"gpt2-medium", "gpt2-medium"}, {"gpt2-large", "gpt2-large"}, {"gpt2-xl", "gpt2-xl"}}},
		{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Default: "12", Source: nanogptTrain},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, OverGPUs: true, Unit: "forwards over all GPUs", Default: "40", Source: nanogptTrain},
		{Setting: "precision", Path: "dtype", Kind: Word, Default: "bfloat16",
			Words: []word{{"float32", "fp32"}, {"bfloat16", "amp-bf16"}, {"float16", "amp-fp16"}}, Source: nanogptTrain},
		{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Default: "1024", Source: nanogptTrain},
		{Setting: "clip", Path: "grad_clip", Kind: Above0, Default: "1.0", Source: nanogptTrain},
	},
}
