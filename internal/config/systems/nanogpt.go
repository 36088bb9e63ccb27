// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

const nanogptTrain = "karpathy/nanoGPT, train.py"

// resumes is the effect of train.py's variable state_dict, which is never reassigned.
const resumes = "keeps the checkpoint's weights on the GPU as well as the model's"

// nanogpt is for Python files that contain only assignments, which nanoGPT's configurator runs, and for
// train.py itself. gradient_accumulation_steps is the number over all GPUs: train.py divides it.
var nanogpt = System{
	Name: "nanogpt", Title: "nanoGPT", Formats: []doc.Format{doc.Python},
	Signs: nanogptSigns,
	Keys:  keysOf(nanogptKeys),

	Finding: Finding{Startable: true},
	Loading: Loading{OwnModel: &nanoModel},
}

// nanogptSigns are variables of nanoGPT's train.py and its configs.
var nanogptSigns = []string{"init_from", "n_layer n_head n_embd", "batch_size block_size", "gradient_accumulation_steps block_size"}

// nanogptOwn is for scripts with nanoGPT's variables that define their own layers or use transformers' models. They have none of
// train.py's defaults, and their code shows the model.
var nanogptOwn = System{
	Name: "nanogpt-own", Title: "your own script, with nanoGPT's names", Formats: []doc.Format{doc.Python},
	Makes: pattern.New(`(?m)^class\s+\w+\([^()\n]*\bModule\s*\)|^(?:from|import)\s+transformers\b`, "Module", "transformers"),
	Signs: nanogptSigns,
	Keys:  keysOf(nanogptOwnKeys),

	Finding: Finding{Startable: true},
	Loading: Loading{OwnModel: &nanoModel, BuildsModel: true},
}

// nanogptOwnKeys are the variables whose meaning does not depend on train.py's code. Those of the model
// only determine how long a step is assumed to take.
func nanogptOwnKeys() (out []Key) {
	for _, k := range nanogptKeys() {
		switch k.Path {
		case "n_layer", "n_head", "n_embd", "batch_size", "gradient_accumulation_steps", "block_size":
			k.Default, k.OverGPUs, k.Source = "", false, byConvention
			if k.Setting == "accumulation" {
				k.Unit = "forward passes"
			}
			out = append(out, k)
		}
	}
	return out
}

func nanogptKeys() []Key {
	return []Key{
		{Setting: "model", Path: "init_from", Kind: Word, Source: nanogptTrain,
			Words: []Term{{"scratch", ""}, {"resume", ""}, {"gpt2", "gpt2"}, {"gpt2-medium", "gpt2-medium"}, {"gpt2-large", "gpt2-large"}, {"gpt2-xl", "gpt2-xl"}}},
		{Setting: "shape.n_layer", Path: "n_layer", Kind: Whole, Unit: "layers", Default: "12", Source: nanogptTrain},
		{Setting: "shape.n_head", Path: "n_head", Kind: Whole, Unit: "heads", Default: "12", Source: nanogptTrain},
		{Setting: "shape.n_embd", Path: "n_embd", Kind: Whole, Unit: "channels", Default: "768", Source: nanogptTrain},
		{Setting: "shape.dropout", Path: "dropout", Kind: Number, Default: "0.0", Source: nanogptTrain},
		{Setting: "shape.bias", Path: "bias", Kind: Switch, Default: "false", Source: nanogptTrain},
		{Setting: "shape.dataset", Path: "dataset", Kind: Name, Default: "openwebtext", Source: nanogptTrain + ": meta_vocab_size"},
		{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Default: "12", Source: nanogptTrain},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, OverGPUs: true, Unit: "forward passes over all GPUs", Default: "40", Source: nanogptTrain},
		{Setting: "precision", Path: "dtype", Kind: Word, Default: "bfloat16",
			Words: []Term{{"float32", "fp32"}, {"bfloat16", "amp-bf16"}, {"float16", "amp-fp16"}}, Source: nanogptTrain},
		{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Default: "1024", Source: nanogptTrain},
		{Setting: "optimizer", Kind: Word, Words: []Term{{"fused", "adamw-fused"}}, Default: "fused", Source: "karpathy/nanoGPT, model.py: configure_optimizers"},
		{Setting: "clip", Path: "grad_clip", Kind: Above0, Default: "1.0", Source: nanogptTrain},
		{Setting: "noted", Path: "init_from", Kind: Word, Words: []Term{{"scratch", ""}, {"resume", resumes}, {"gpt2", ""}, {"gpt2-medium", ""}, {"gpt2-large", ""}, {"gpt2-xl", ""}},
			Then: takesMore, Source: nanogptTrain},
		{Setting: "noted", Path: "compile", Kind: Switch, Means: compiles, Then: takesEither, Default: "true", Source: nanogptTrain},
	}
}

// nanoModel is model.py's GPT. Its vocabulary is GPT-2's rounded up to a multiple of 64, unless the
// data has its own, as data/shakespeare_char/prepare.py does.
var nanoModel = OwnModel{
	Type: "nanogpt", Tokens: 50304, DataTokens: map[string]int{"shakespeare_char": 65},
	Usual: Shape{12, 12, 768},
	// model.py: from_pretrained
	Loads: map[string]Shape{
		"gpt2": {12, 12, 768}, "gpt2-medium": {24, 16, 1024}, "gpt2-large": {36, 20, 1280}, "gpt2-xl": {48, 25, 1600},
	},
	LoadedTokens: 50257, LoadedPositions: 1024,
}
