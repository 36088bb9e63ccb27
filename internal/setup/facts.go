// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"snug/internal/catalog"
	"snug/internal/family"
)

// facts returns the facts about the model's family. A model without a family has no facts; building it returns the
// error.
func (m Model) facts() family.Facts {
	if m.Code {
		return family.Facts{}
	}
	if m.Config == nil {
		return family.Torchvision()
	}
	t, _ := m.Config["model_type"].(string)
	f, known := family.FactsOf(t)
	if !known {
		return family.Facts{Positions: family.Positions{Images: true}}
	}
	if m.Head == family.ImageClassification {
		f.Positions.Images = true
	}
	return f
}

// Longest returns the largest number of tokens that the model accepts; 0 means no limit.
func (m Model) Longest() int {
	p := m.facts().Positions
	if p.Key == "" {
		return 0
	}
	n := p.Default
	for _, key := range []string{p.Key, "max_position_embeddings"} { // max_position_embeddings is an alias in gpt2's config
		if v, ok := m.textConfig()[key].(float64); ok && v >= 1 && v < maxSeq {
			n = int(v)
			break
		}
	}
	return max(n-p.Offset, 1)
}

// textConfig returns the config of the model's text part.
func (m Model) textConfig() map[string]any {
	if text, ok := m.Config["text_config"].(map[string]any); ok && m.HasVision() {
		return text
	}
	return m.Config
}

// withVision returns the built-in model with this name, and its vision tower; nil if it has none.
func withVision(name string) (Model, *family.Vision) {
	e := catalog.Find(name)
	if e == nil {
		e, _ = catalog.Assume(name)
	}
	if e == nil {
		return Model{}, nil
	}
	m := Model{Config: e.Config}
	return m, m.facts().Vision
}

// SeesImages reports whether a name is that of a built-in model with a vision tower.
func SeesImages(name string) bool {
	_, v := withVision(name)
	return v != nil
}

// FixedImages reports whether the processor of a built-in model resizes every image to the same size.
func FixedImages(name string) bool {
	m, v := withVision(name)
	return v != nil && v.Fit(m.Config, 0, 0).Fixed
}

// TileSide returns the side of the tiles that the processor of a built-in model may cut images into, but need not; 0 if it
// always cuts them, or never.
func TileSide(name string) int {
	m, v := withVision(name)
	if v == nil {
		return 0
	}
	return v.TileSide(m.Config)
}

// LargestSide returns the side of the largest square image with at most this many pixels, as the processor of a built-in
// model resizes it; 0 if the model has no vision tower or resizes every image to the same size.
func LargestSide(name string, pixels int) int {
	m, v := withVision(name)
	if v == nil || pixels < 1 || v.Fit(m.Config, 0, 0).Fixed {
		return 0
	}
	most := int(math.Sqrt(float64(pixels)))
	side := most
	for side > 1 && v.Fit(m.Config, side, side).Height > most {
		side--
	}
	return v.Fit(m.Config, side, side).Height
}

// HasLiger reports whether Liger has kernels for the model.
func (m Model) HasLiger() bool { return m.facts().Liger }

// HasExperts reports whether the model is a mixture of experts.
func (m Model) HasExperts() bool { return m.facts().Experts }

// Faster names the packages whose kernels transformers would use for the model, and which are not simulated.
func (m Model) Faster() string { return m.facts().Faster }

// RowsMeasured reports whether runs with positives and negatives were measured.
func (m Model) RowsMeasured() bool { return m.facts().RowsMeasured }

// LoRATargets returns the layers that LoRA adapts by default; nil if those cannot be simulated.
func (m Model) LoRATargets() []string { return m.facts().Targets() }

// Trains reports whether a built-in model can be trained with a head.
func Trains(name, head string) bool {
	e := catalog.Known(name)
	return e != nil && slices.Contains(Model{Config: e.Config}.facts().Heads, head)
}

// LongestOf returns the longest sample, in tokens, that a built-in model accepts; 0 if unknown.
func LongestOf(name string) int {
	if e := catalog.Known(name); e != nil {
		return Model{Config: e.Config}.Longest()
	}
	return 0
}

// FusesAttention reports whether a built-in model computes queries, keys and values in one linear layer.
func FusesAttention(name string) bool {
	e := catalog.Known(name)
	return e != nil && slices.Contains(Model{Config: e.Config}.facts().LoRA, "query_key_value")
}

// Unfused returns the config of a built-in model as an equivalent type without fused layers; nil if it has no fused
// layers.
func Unfused(name string) map[string]any {
	e := catalog.Known(name)
	if e == nil {
		return nil
	}
	as := Model{Config: e.Config}.facts().Unfused
	if as == "" {
		return nil
	}
	config := maps.Clone(e.Config)
	config["model_type"] = as
	delete(config, "architectures")
	return config
}

// SavedAs returns the type in which a built-in model's weights are saved; "" if unknown.
func SavedAs(name string) string {
	if e := catalog.Known(name); e != nil {
		return Model{Config: e.Config}.SavedIn()
	}
	return ""
}

// UnsimulatedModel describes what a model name stands for if that is not simulated, such as "a Falcon model";
// otherwise "".
func UnsimulatedModel(name string) string { return catalog.Unsimulated(name) }

// KnowsModel reports whether a name belongs to a built-in model.
func KnowsModel(name string) bool { return catalog.Known(name) != nil }

// SameModel reports whether two names refer to the same model.
func SameModel(a, b string) bool {
	known, other := catalog.Known(a), catalog.Known(b)
	return a == b || known != nil && other != nil && known.Name == other.Name
}

// Dims returns the defaults for sizes that the model's config may omit.
func (m Model) Dims() family.Dims { return m.facts().Dims }

// headOf derives the head from the class that a config names.
func headOf(config map[string]any) (string, error) {
	list, _ := config["architectures"].([]any)
	if len(list) == 0 {
		return "", nil
	}
	class, _ := list[0].(string)
	if (Model{Config: config}).HasVision() && strings.HasSuffix(class, "ForConditionalGeneration") {
		return family.CausalLM, nil
	}
	for _, x := range []struct{ suffix, head string }{
		{"ForCausalLM", family.CausalLM}, {"LMHeadModel", family.CausalLM}, {"ForMaskedLM", family.MaskedLM},
		{"ForPreTraining", family.MaskedLM}, {"ForConditionalGeneration", family.Seq2SeqLM}, {"MTModel", family.Seq2SeqLM}, // MarianMTModel
		{"ForImageClassification", family.ImageClassification}, {"ForImageClassificationWithTeacher", family.ImageClassification}, {"ForSemanticSegmentation", family.SemanticSegmentation}, {"Model", family.Encoder},
		{"ForSequenceClassification", family.SequenceClassification}, {"ForTokenClassification", family.TokenClassification},
		{"ForQuestionAnswering", family.QuestionAnswering}, {"ForMultipleChoice", family.MultipleChoice},
	} {
		if strings.HasSuffix(class, x.suffix) {
			return x.head, nil
		}
	}
	return "", unknownModel("architectures has %q, which has no known head; set {model.head} to one of %s", class, strings.Join(family.Heads(), ", "))
}

// layerKeys are the config keys for the number of layers. An absurd number would take forever to simulate.
var layerKeys = []string{"num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers", "channels", "depth"}

const (
	maxLayers  = 1000
	maxHeads   = 1 << 12
	maxExperts = 1 << 12
)

// checkConfig returns an error for numbers that no model has; the family checks the rest.
func checkConfig(config map[string]any) error {
	for _, key := range []string{"text_config", "vision_config"} {
		if part, ok := config[key].(map[string]any); ok {
			if err := checkConfig(part); err != nil {
				return err
			}
		}
	}
	for k, v := range config {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return fmt.Errorf("config key %q is %v; write a number", k, f)
		}
	}
	for _, x := range []struct {
		keys []string
		most float64
	}{
		{layerKeys, maxLayers},
		{[]string{"num_attention_heads", "n_head", "num_heads", "num_key_value_heads"}, maxHeads},
		{[]string{"num_local_experts", "num_experts", "experts"}, maxExperts},
	} {
		for _, k := range x.keys {
			if f, ok := config[k].(float64); ok && f > x.most {
				return fmt.Errorf("config key %q is %s; it must be at most %.0f", k, show(f), x.most)
			}
		}
	}
	return nil
}
