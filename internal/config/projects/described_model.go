// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// Many trainers do not name a published model: their configs contain a class (model._target_, model._name) or layer
// sizes (GPT-NeoX, OLMo, NeMo, Megatron). The program builds such a model itself; the error reports where the
// config shows this.

// DescribedModel is how a file describes the model that its program builds.
type DescribedModel struct {
	Where string // file:line
	Class string // the name of its class; "" if only its sizes are given
	What  string // the beginning of a sentence that describes it
}

// Key names for a model's class (only directly below one of modelSections), the width of its layers, and their number.
var (
	modelSections = []string{"model", "models", "net", "network", "architecture"}
	classNames    = []string{"_target_", "_name", "_component_", "class_path", "class_name", "target", "name", "type", "arch", "model_type"}
	widthNames    = []string{"hidden_size", "d_model", "n_embd", "embed_dim", "encoder_embed_dim", "model_dim", "hidden_dim", "dim", "emb_dim", "hidden_states"}
	depthNames    = []string{"num_layers", "n_layers", "n_layer", "num_hidden_layers", "encoder_layers", "encoder_num_layers", "depth"}
)

// Described returns the unpublished model that a source describes by class or sizes; nil if there is none.
func (s *Source) Described() *DescribedModel { return describedIn(s.Tree) }

func describedIn(t tree.Tree) *DescribedModel {
	if v := modelClass(t); v != nil {
		text, _ := v.Value.Data.(string)
		return &DescribedModel{whereIn(t, v), text, fmt.Sprintf("%s %s is", v.Path, text)}
	}
	width, depth := firstNamed(t, widthNames), firstNamed(t, depthNames)
	if width == nil || depth == nil {
		return nil
	}
	return &DescribedModel{whereIn(t, width), "", fmt.Sprintf("%s and %s are the sizes of", width.Path, depth.Path)}
}

// DescribedBeside returns the model whose sizes are in a file that the main script passes to its program; nil if there is
// none.
func (p *Found) DescribedBeside() *DescribedModel {
	if p.Primary == nil || p.Primary.System.Commands == nil {
		return nil
	}
	for _, v := range p.Primary.OwnValues() {
		text, _ := v.Value.Data.(string)
		if !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(text)) {
			continue
		}
		for _, name := range []string{path.Clean(text), path.Join(path.Dir(p.Primary.File), text)} {
			if d := p.opened(name); d != nil {
				if m := describedIn(tree.New(tree.Layer{File: name, Doc: d})); m != nil && m.Class == "" {
					return m
				}
			}
		}
	}
	return nil
}

// opened parses a config file; it returns nil for programs and files that cannot be parsed.
func (p *Found) opened(name string) *doc.Document {
	data, err := p.files.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := doc.Open(name, data)
	if err != nil || d.Format() == doc.Python {
		return nil
	}
	return d
}

// Refusal returns the error for a model that the program builds itself.
func (d *DescribedModel) Refusal() string {
	return fmt.Sprintf("%s: %s a model that the program builds itself, which is not simulated; measure the run: snug profile -- <your command>", d.Where, d.What)
}

// firstNamed returns the first value in a tree with one of the names, or nil.
func firstNamed(t tree.Tree, names []string) *tree.Value {
	for _, name := range names {
		for _, v := range t.Index().Named(name) {
			if _, yes := v.Value.Data.(bool); v.Value.Data != nil && !yes {
				return v
			}
		}
	}
	return nil
}

// modelClass returns the value that names the model's class or, failing that, the class of a part around its layers;
// nil if there is none.
func modelClass(t tree.Tree) *tree.Value {
	var around *tree.Value
	for _, name := range classNames {
		for _, v := range t.Index().Named(name) {
			if text, _ := v.Value.Data.(string); text == "" || !ofModel(v.Parts) || strings.Contains(text, "${") {
				continue
			}
			if !isAround(v.Parts[len(v.Parts)-2]) {
				return v
			}
			if around == nil {
				around = v
			}
		}
	}
	if around == nil {
		return modelAtTop(t)
	}
	return around
}

// modelAtTop returns the text of a key such as model at the top of a config file, which names the model to the program; nil
// if there is none.
func modelAtTop(t tree.Tree) *tree.Value {
	if f := t.Layers[0].Doc.Format(); f == doc.Python || f == doc.Shell {
		return nil
	}
	for _, name := range modelSections {
		for _, v := range t.Index().Named(name) {
			if text, _ := v.Value.Data.(string); len(v.Parts) == 1 && text != "" && !strings.Contains(text, "${") {
				return v
			}
		}
	}
	return nil
}

// ofModel reports whether a path is directly in a model's section, or is the class of a part, as in
// model.encoder._target_.
func ofModel(parts []string) bool {
	n := len(parts)
	return n >= 2 && slices.Contains(modelSections, parts[n-2]) ||
		n >= 3 && parts[n-1] == "_target_" && slices.Contains(modelSections, parts[n-3]) && parts[n-2] != "optim"
}

// isAround reports whether a section in a model's section is about something before or after its layers.
func isAround(section string) bool {
	return slices.ContainsFunc(aroundModels, func(word string) bool { return strings.Contains(section, word) })
}

// aroundModels are words in the names of sections about something before or after a model's layers.
var aroundModels = []string{
	"optim", "sched", "token", "normaliz", "process", "augment", "loss", "metric", "dataset", "data", "sampler", "g2p", "collat", "logg", "callback", "vocab", "transform_fn",
}

// whereIn returns file:line of a value in a tree.
func whereIn(t tree.Tree, v *tree.Value) string {
	place, err := t.LastSet(v.Path)
	if err != nil {
		return t.Nearest(v.Path).File
	}
	return fmt.Sprintf("%s:%d", place.File, place.Value.Line)
}

// silent returns the error for a named file without settings, which may still describe a model.
func (p *Found) silent(name string) error {
	if d := p.opened(name); d != nil {
		if m := describedIn(tree.New(tree.Layer{File: name, Doc: d})); m != nil {
			return fmt.Errorf("%s", m.Refusal())
		}
	}
	return p.withoutSettings(name)
}
