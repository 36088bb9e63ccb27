// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"snug/internal/config/doc"
)

const nanogptTrain = "karpathy/nanoGPT, train.py"

// nanogpt is Python files that only assign, as nanoGPT's configurator runs
// them, and train.py itself. gradient_accumulation_steps counts over all GPUs:
// train.py divides it.
var nanogpt = Adapter{
	Name: "nanogpt", Title: "nanoGPT", Formats: []doc.Format{doc.Python},
	Signs: []string{"init_from", "n_layer n_head n_embd", "batch_size block_size", "gradient_accumulation_steps block_size"},
	Keys: []Key{
		{Setting: "model", Path: "init_from", Kind: Word, Source: nanogptTrain,
			Words: []word{{"scratch", ""}, {"resume", ""}, {"gpt2", "gpt2"}, {"gpt2-medium", "gpt2-medium"}, {"gpt2-large", "gpt2-large"}, {"gpt2-xl", "gpt2-xl"}}},
		{Setting: "shape.n_layer", Path: "n_layer", Kind: Whole, Unit: "layers", Default: "12", Source: nanogptTrain},
		{Setting: "shape.n_head", Path: "n_head", Kind: Whole, Unit: "heads", Default: "12", Source: nanogptTrain},
		{Setting: "shape.n_embd", Path: "n_embd", Kind: Whole, Unit: "channels", Default: "768", Source: nanogptTrain},
		{Setting: "shape.dropout", Path: "dropout", Kind: Number, Default: "0.0", Source: nanogptTrain},
		{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Default: "12", Source: nanogptTrain},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, OverGPUs: true, Unit: "forwards over all GPUs", Default: "40", Source: nanogptTrain},
		{Setting: "precision", Path: "dtype", Kind: Word, Default: "bfloat16",
			Words: []word{{"float32", "fp32"}, {"bfloat16", "amp-bf16"}, {"float16", "amp-fp16"}}, Source: nanogptTrain},
		{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Default: "1024", Source: nanogptTrain},
		{Setting: "optimizer", Kind: Word, Words: []word{{"fused", "adamw-fused"}}, Default: "fused", Source: "karpathy/nanoGPT, model.py: configure_optimizers"},
		{Setting: "clip", Path: "grad_clip", Kind: Above0, Default: "1.0", Source: nanogptTrain},
		{Setting: "noted", Path: "compile", Kind: Switch, Means: compiles, Then: takesEither, Default: "true", Source: nanogptTrain},
	},
}

// nanoShapes is the sizes that nanoGPT loads GPT-2 in (model.py: from_pretrained).
var nanoShapes = map[any][3]int{
	"gpt2": {12, 12, 768}, "gpt2-medium": {24, 16, 1024}, "gpt2-large": {36, 20, 1280}, "gpt2-xl": {48, 25, 1600},
}

// nanoVocabulary is GPT-2's 50257 filled up to a multiple of 64, as models from scratch
// have it.
const nanoVocabulary, gpt2Vocabulary = 50304, 50257

// nanoModel is nanoGPT's model in the terms of transformers' GPT-2, which is the same
// but for the loss, biases and the function between the feed-forward layers, which a
// config can say. It has no mask.
func (p *Project) nanoModel(out map[string]any) {
	config := map[string]any{"model_type": "gpt2", "architectures": []any{"GPT2LMHeadModel"}, "activation_function": "gelu"}
	shape, known := nanoShapes[p.Value("model")]
	vocabulary, positions := gpt2Vocabulary, 1024
	if !known {
		shape = [3]int{p.whole("shape.n_layer"), p.whole("shape.n_head"), p.whole("shape.n_embd")}
		vocabulary, positions = nanoVocabulary, p.whole("seq")
	}
	config["n_layer"], config["n_head"], config["n_embd"] = float64(shape[0]), float64(shape[1]), float64(shape[2])
	config["vocab_size"], config["n_positions"] = float64(vocabulary), float64(positions)
	dropout, _ := p.said("shape.dropout").(float64)
	for _, key := range []string{"embd_pdrop", "resid_pdrop", "attn_pdrop"} {
		config[key] = dropout
	}
	out["model"] = map[string]any{"config": config}
	out["attention_mask"] = false
}

// nanoDoubts are those of nanoGPT.
func (p *Project) nanoDoubts(run map[string]any) []string {
	model, _ := run["model"].(map[string]any)
	if p.system() != &nanogpt || model["config"] == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: nanoGPT's model is counted as transformers' GPT-2 of its shape, whose loss makes more of its logits", p.main.file)}
}
