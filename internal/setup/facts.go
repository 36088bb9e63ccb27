// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"math"
	"strings"
)

// facts is what a model type says about a run before the model is built.
type facts struct {
	head      string // the usual one
	key       string // of the configuration: how many positions there are
	positions int    // its default
	offset    int    // positions that no token can have
	learned   bool   // a table: there are no others. Computed ones only have a usual maximum
	images    bool   // no tokens at all
}

// families is by model_type, with the defaults of transformers 5.17.
var families = map[string]facts{
	"bert":          {head: "masked-lm", key: "max_position_embeddings", positions: 512, learned: true},
	"bloom":         {head: "causal-lm"},
	"distilbert":    {head: "masked-lm", key: "max_position_embeddings", positions: 512, learned: true},
	"falcon":        {head: "causal-lm", key: "max_position_embeddings", positions: 2048},
	"gemma":         {head: "causal-lm", key: "max_position_embeddings", positions: 8192},
	"gemma2":        {head: "causal-lm", key: "max_position_embeddings", positions: 8192},
	"gemma3_text":   {head: "causal-lm", key: "max_position_embeddings", positions: 131072},
	"gpt2":          {head: "causal-lm", key: "n_positions", positions: 1024, learned: true},
	"gpt_neox":      {head: "causal-lm", key: "max_position_embeddings", positions: 2048},
	"llama":         {head: "causal-lm", key: "max_position_embeddings", positions: 2048},
	"mamba":         {head: "causal-lm"},
	"mamba2":        {head: "causal-lm"},
	"mistral":       {head: "causal-lm", key: "max_position_embeddings", positions: 131072},
	"mixtral":       {head: "causal-lm", key: "max_position_embeddings", positions: 131072},
	"modernbert":    {head: "masked-lm", key: "max_position_embeddings", positions: 8192},
	"mpnet":         {head: "masked-lm", key: "max_position_embeddings", positions: 512, offset: 2, learned: true},
	"multi-encoder": {head: "encoder", key: "max_position_embeddings", positions: 512, learned: true},
	"nanogpt":       {head: "causal-lm", key: "block_size", positions: 1024},
	"opt":           {head: "causal-lm", key: "max_position_embeddings", positions: 2048, learned: true},
	"phi":           {head: "causal-lm", key: "max_position_embeddings", positions: 2048},
	"phi3":          {head: "causal-lm", key: "max_position_embeddings", positions: 4096},
	"qwen2":         {head: "causal-lm", key: "max_position_embeddings", positions: 32768},
	"qwen3":         {head: "causal-lm", key: "max_position_embeddings", positions: 32768},
	"qwen3_moe":     {head: "causal-lm", key: "max_position_embeddings", positions: 32768},
	"roberta":       {head: "masked-lm", key: "max_position_embeddings", positions: 512, offset: 2, learned: true},
	"t5":            {head: "seq2seq-lm", key: "n_positions", positions: 512},
	"vit":           {head: "image-classification", images: true},
	"xlm-roberta":   {head: "masked-lm", key: "max_position_embeddings", positions: 512, offset: 2, learned: true},
}

// factsOf finds the facts of a model; one without a family has none, and says
// so when it is built.
func factsOf(m Model) facts {
	if m.Config == nil {
		return facts{head: "image-classification", images: true} // torchvision's
	}
	t, _ := m.Config["model_type"].(string)
	f, ok := families[t]
	if !ok {
		return facts{images: true}
	}
	if m.Head == "image-classification" {
		f.images = true
	}
	return f
}

// longest is the longest sequence that a model takes, 0 where there is none.
func (f facts) longest(config map[string]any) int {
	if f.key == "" {
		return 0
	}
	n := f.positions
	for _, key := range []string{f.key, "max_position_embeddings"} { // the second is gpt2's other name for it
		if v, ok := config[key].(float64); ok && v >= 1 && v < mostSeq {
			n = int(v)
			break
		}
	}
	return max(n-f.offset, 1)
}

// headOf reads the head off the class that a config names.
func headOf(config map[string]any) (string, error) {
	list, _ := config["architectures"].([]any)
	if len(list) == 0 {
		return "", nil
	}
	class, _ := list[0].(string)
	for _, x := range []struct{ suffix, head string }{
		{"ForCausalLM", "causal-lm"}, {"LMHeadModel", "causal-lm"}, {"ForMaskedLM", "masked-lm"},
		{"ForPreTraining", "masked-lm"}, {"ForConditionalGeneration", "seq2seq-lm"},
		{"ForImageClassification", "image-classification"}, {"Model", "encoder"},
	} {
		if strings.HasSuffix(class, x.suffix) {
			return x.head, nil
		}
	}
	return "", unknownModel("architectures names %q, whose head is not known; set {model.head} to one of %s", class, strings.Join(Heads, ", "))
}

// layerKeys count what a model is a stack of: an absurd one would take for ever.
var layerKeys = []string{"num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers", "channels"}

const (
	mostLayers  = 1000
	mostHeads   = 1 << 12
	mostExperts = 1 << 12
)

// checkConfig refuses numbers that no model has; the family checks the rest.
func checkConfig(config map[string]any) error {
	for k, v := range config {
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return fmt.Errorf("config key %q is %v; write a number", k, f)
		}
	}
	for _, x := range []struct {
		keys []string
		most float64
	}{
		{layerKeys, mostLayers},
		{[]string{"num_attention_heads", "n_head", "num_heads", "num_key_value_heads"}, mostHeads},
		{[]string{"num_local_experts", "num_experts", "experts"}, mostExperts},
	} {
		for _, k := range x.keys {
			if f, ok := config[k].(float64); ok && f > x.most {
				return fmt.Errorf("config key %q is %s; more than %.0f makes no sense", k, show(f), x.most)
			}
		}
	}
	return nil
}
