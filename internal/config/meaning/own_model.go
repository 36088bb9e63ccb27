// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"

	"snug/internal/config/systems"
)

// loadedShape is the shape of the weights that a run with a model of the trainer's own
// begins with; a model from scratch has its own.
func (p *Run) loadedShape(own *systems.OwnModel) (shape systems.Shape, loaded bool) {
	name, _ := p.Value("model").(string)
	shape, loaded = own.Loads[name]
	return shape, loaded
}

// settleOwnModel is a model of the trainer's own. From scratch it has positions for the
// block that it is fed. Weights that are loaded have biases, a vocabulary of their own,
// and positions for so many tokens, which are cropped to the block.
func (p *Run) settleOwnModel(own *systems.OwnModel, out map[string]any) {
	config := map[string]any{"model_type": own.Type}
	shape, loaded := p.loadedShape(own)
	if loaded {
		config["vocab_size"], config["bias"] = float64(own.LoadedTokens), true
		config["block_size"] = float64(min(p.Whole("seq"), own.LoadedPositions))
	} else {
		shape = systems.Shape{Layers: p.Whole("shape.n_layer"), Heads: p.Whole("shape.n_head"), Channels: p.Whole("shape.n_embd")}
		tokens, _ := p.ownTokens(own)
		config["vocab_size"] = float64(tokens)
		config["bias"], _ = p.ValueOrDefault("shape.bias").(bool)
	}
	config["n_layer"], config["n_head"], config["n_embd"] = float64(shape.Layers), float64(shape.Heads), float64(shape.Channels)
	config["dropout"], _ = p.ValueOrDefault("shape.dropout").(float64)
	out["model"] = map[string]any{"config": config}
}

// ownTokens is how many tokens a model from scratch knows: the trainer looks for them in
// a meta.pkl beside the data. The warning is that there is one which does not say.
func (p *Run) ownTokens(own *systems.OwnModel) (n int, warning string) {
	dataset, _ := p.ValueOrDefault("shape.dataset").(string)
	name := path.Join("data", dataset, "meta.pkl")
	data, err := p.Files().ReadFile(name)
	n = pickledVocabulary(data)
	switch {
	case n > 0:
		return n, ""
	case own.DataTokens[dataset] > 0:
		return own.DataTokens[dataset], ""
	case err == nil:
		warning = fmt.Sprintf("%s: no vocab_size could be read here, which the model has its tokens from; %d are counted", name, own.Tokens)
	}
	return own.Tokens, warning
}

// unknownTokens is that nobody knows how many tokens a model from scratch has.
func (p *Run) unknownTokens() []string {
	own := p.Trainer().OwnModel
	if own == nil {
		return nil
	}
	if _, loaded := p.loadedShape(own); loaded {
		return nil
	}
	if _, warning := p.ownTokens(own); warning != "" {
		return []string{warning}
	}
	return nil
}
