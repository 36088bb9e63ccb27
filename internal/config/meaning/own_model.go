// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"strings"

	"snug/internal/config/systems"
)

// loadedShape returns the shape of the weights that the trainer's own model is loaded from; loaded is false
// for a model trained from scratch.
func (r *Run) loadedShape(own *systems.OwnModel) (shape systems.Shape, loaded bool) {
	name, _ := r.Value("model").(string)
	shape, loaded = own.Loads[name]
	return shape, loaded
}

// BuildsModel reports whether only the code of the run's script shows its model.
func (r *Run) BuildsModel() bool {
	return r.Primary != nil && r.Trainer().BuildsModel && r.scriptModel().Name == "" && (r.Own == nil || r.Own.Model == nil)
}

// settleOwnModel fills in the trainer's own model. A model from scratch has as many positions as its
// block. Loaded weights have biases, their own vocabulary, and a fixed number of positions, which are
// cropped to the block.
func (r *Run) settleOwnModel(own *systems.OwnModel, out map[string]any) {
	config := map[string]any{"model_type": own.Type}
	shape, loaded := r.loadedShape(own)
	if loaded {
		config["vocab_size"], config["bias"] = float64(own.LoadedTokens), true
		config["block_size"] = float64(min(r.Whole("seq"), own.LoadedPositions))
	} else {
		shape = systems.Shape{Layers: r.Whole("shape.n_layer"), Heads: r.Whole("shape.n_head"), Channels: r.Whole("shape.n_embd")}
		if shape.Layers*shape.Heads*shape.Channels == 0 {
			shape = own.Usual
		}
		tokens, _ := r.ownTokens(own)
		config["vocab_size"] = float64(tokens)
		config["bias"], _ = r.ValueOrDefault("shape.bias").(bool)
	}
	config["n_layer"], config["n_head"], config["n_embd"] = float64(shape.Layers), float64(shape.Heads), float64(shape.Channels)
	config["dropout"], _ = r.ValueOrDefault("shape.dropout").(float64)
	out["model"] = map[string]any{"config": config}
}

// hasOtherSizes reports whether a file like the trainer's has model sizes under other names. Such a file builds
// another model, as llama2.c's train.py does.
func (r *Run) hasOtherSizes(own *systems.OwnModel) bool {
	if r.Primary == nil || len(r.BindingsOf("shape.n_layer"))+len(r.BindingsOf("shape.n_embd")) > 0 {
		return false
	}
	_, loaded := r.loadedShape(own)
	d := r.Primary.Described()
	return !loaded && d != nil && d.Class == ""
}

// ownTokens returns the vocabulary size of a model from scratch: the trainer reads it from a meta.pkl next to
// the data. It returns a warning if that file does not contain it.
func (r *Run) ownTokens(own *systems.OwnModel) (n int, warning string) {
	dataset, _ := r.ValueOrDefault("shape.dataset").(string)
	name := path.Join("data", dataset, "meta.pkl")
	data, err := r.Files().ReadFile(name)
	n = pickledVocabulary(data)
	switch {
	case n > 0:
		return n, ""
	case own.DataTokens[dataset] > 0:
		return own.DataTokens[dataset], ""
	case err == nil:
		warning = fmt.Sprintf("%s: no vocab_size was found; a vocabulary of %d tokens is assumed", name, own.Tokens)
	}
	return own.Tokens, warning
}

// unknownTokens returns the warning that the vocabulary size of a model from scratch is unknown.
func (r *Run) unknownTokens() []string {
	own := r.Trainer().OwnModel
	if own == nil || r.BuildsModel() {
		return nil
	}
	if _, loaded := r.loadedShape(own); loaded {
		return nil
	}
	if _, warning := r.ownTokens(own); warning != "" {
		return []string{warning}
	}
	return nil
}

// describedConfig returns the config.json of a model that a section of the files describes, or why there is none.
func (r *Run) describedConfig(section map[string]any) (config map[string]any, why string) {
	if describes := r.Trainer().Describes; describes != nil {
		return describes(section)
	}
	config = map[string]any{"model_type": "llama"}
	for k, x := range section {
		if x != nil {
			config[k] = x
		}
	}
	return config, ""
}

// topLevel returns the values at the top of the main file, by their names with _ instead of -. Numbers are float64, as in
// a config.json.
func (r *Run) topLevel() map[string]any {
	out := map[string]any{}
	for _, v := range r.Primary.OwnValues() {
		if len(v.Path) != 1 {
			continue
		}
		data := v.Value.Data
		if n, is := data.(int64); is {
			data = float64(n)
		}
		out[strings.ReplaceAll(v.Path[0], "-", "_")] = data
	}
	return out
}
