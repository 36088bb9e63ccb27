// SPDX-License-Identifier: Apache-2.0

package meaning

// nanoShapes is the sizes that nanoGPT loads GPT-2 in (model.py: from_pretrained).
var nanoShapes = map[string][3]int{
	"gpt2": {12, 12, 768}, "gpt2-medium": {24, 16, 1024}, "gpt2-large": {36, 20, 1280}, "gpt2-xl": {48, 25, 1600},
}

// nanoLoads is the shape of the weights that a run begins with; a model from scratch
// has its own.
func (p *Run) nanoLoads() (shape [3]int, loaded bool) {
	name, _ := p.Value("model").(string)
	shape, loaded = nanoShapes[name]
	return shape, loaded
}

// nanoModel is nanoGPT's own model. From scratch it has positions for the block that
// it is fed. Weights of GPT-2 have biases, its vocabulary, and positions for 1024 tokens,
// which train.py crops to the block.
func (p *Run) nanoModel(out map[string]any) {
	config := map[string]any{"model_type": p.Trainer().OwnModel}
	shape, loaded := p.nanoLoads()
	if loaded {
		config["vocab_size"], config["bias"] = float64(gpt2Vocabulary), true
		config["block_size"] = float64(min(p.Whole("seq"), 1024))
	} else {
		shape = [3]int{p.Whole("shape.n_layer"), p.Whole("shape.n_head"), p.Whole("shape.n_embd")}
		tokens, _ := p.nanoTokens()
		config["vocab_size"] = float64(tokens)
		config["bias"], _ = p.ValueOrDefault("shape.bias").(bool)
	}
	config["n_layer"], config["n_head"], config["n_embd"] = float64(shape[0]), float64(shape[1]), float64(shape[2])
	config["dropout"], _ = p.ValueOrDefault("shape.dropout").(float64)
	out["model"] = map[string]any{"config": config}
}
