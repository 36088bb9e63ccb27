// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"maps"
	"strings"
)

// configValue is a model's configuration: the setup's, with the script's changes.
type configValue struct {
	refs
	own       map[string]any // configuration of a model other than the setup's
	changed   map[string]any
	attention string   // attn_implementation; "" if not specified
	of        *network // the model it belongs to, or nil
}

func (c *configValue) release() { c.last() }

// namedConfig implements AutoConfig.from_pretrained.
func (in *interpreter) namedConfig(a arguments) *configValue {
	c := newConfig(a)
	c.own = in.another(a.or(0, "pretrained_model_name_or_path", nil))
	return c
}

// newConfig implements a call of a configuration class.
func newConfig(a arguments) *configValue {
	c := &configValue{changed: map[string]any{}}
	c.change(a)
	return c
}

// copied implements copy.deepcopy of a configuration.
func (c *configValue) copied() *configValue {
	return &configValue{own: c.own, changed: maps.Clone(c.changed), attention: c.attention}
}

// change applies the arguments that are keys of a configuration.
func (c *configValue) change(a arguments) {
	for i, name := range a.names {
		if kind, ok := a.named[i].(string); ok && strings.TrimPrefix(name, "_") == "attn_implementation" {
			c.attention = kind
			continue
		}
		if d, ok := a.named[i].(*dict); ok && name == "id2label" && !d.open && len(d.keys) > 0 {
			c.changed["num_labels"] = float64(len(d.keys))
		} else if v, ok := asKey(a.named[i]); ok && !notOfConfig[name] {
			c.changed[name] = v
		}
	}
}

// asKey returns v as it would be in a config.json: a number, a text, a switch or a list of them.
func asKey(v value) (any, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64, bool, string:
		return v, true
	case *list:
		out := make([]any, len(v.items))
		for i, x := range v.items {
			k, ok := asKey(x)
			if !ok {
				return nil, false
			}
			out[i] = k
		}
		return out, !v.unseen && !v.opaque
	}
	return nil, false
}

// fromKey returns the value of a key of a config.json.
func fromKey(v any) value {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
		return v
	case bool, string, nil:
		return v
	case []any:
		out := &list{}
		for _, x := range v {
			out.items = append(out.items, fromKey(x))
		}
		return out
	}
	return unknown{}
}

// notOfConfig lists the arguments of from_pretrained that are not keys of a configuration.
var notOfConfig = map[string]bool{
	"dtype": true, "torch_dtype": true, "device_map": true, "attn_implementation": true, "cache_dir": true, "revision": true,
	"trust_remote_code": true, "token": true, "local_files_only": true, "low_cpu_mem_usage": true, "use_safetensors": true,
}

func (c *configValue) attr(in *interpreter, name string) (value, bool) {
	return c.get(in, name), true
}

// get returns a value of the configuration.
func (c *configValue) get(in *interpreter, name string) value {
	if c.of != nil && name == "use_cache" {
		return !c.of.mode.NoCache
	}
	v, ok := c.changed[name]
	if !ok {
		v, ok = c.keys(in)[name]
	}
	if !ok {
		if v, ok = synonym(c.keys(in), name); !ok && name == "num_labels" {
			return c.labels(in)
		} else if !ok {
			return unknown{}
		}
	}
	return fromKey(v)
}

// keys returns the configuration without the script's changes.
func (c *configValue) keys(in *interpreter) map[string]any {
	if c.own != nil {
		return c.own
	}
	return in.Config
}

// labels returns the default of num_labels: the number of label names, or else transformers' default of two.
func (c *configValue) labels(in *interpreter) int {
	if names, ok := c.keys(in)["id2label"].(map[string]any); ok {
		return len(names)
	}
	return 2
}

// synonyms lists the names that different configurations use for the same value, like transformers'
// attribute_map.
var synonyms = map[string][]string{
	"hidden_size": {"n_embd", "dim", "d_model"}, "num_hidden_layers": {"n_layer", "n_layers", "num_layers", "encoder_layers"},
	"num_attention_heads": {"n_head", "n_heads", "num_heads", "encoder_attention_heads"}, "max_position_embeddings": {"n_positions", "n_ctx"},
}

// synonym looks up a key of a configuration under its other names.
func synonym(config map[string]any, name string) (any, bool) {
	for _, other := range synonyms[name] {
		if v, ok := config[other]; ok {
			return v, true
		}
	}
	return nil, false
}

// set implements config.name = v.
func (c *configValue) set(name string, v value) {
	if on, ok := v.(bool); ok && name == "use_cache" && c.of != nil {
		c.of.mode.NoCache = !on
	}
	c.change(arguments{names: []string{name}, named: []value{v}})
}

func (c *configValue) call(_ *interpreter, name string, a arguments) value {
	switch name {
	case "update":
		if d, ok := a.or(0, "", nil).(*dict); ok {
			for i, k := range d.keys {
				if key, ok := k.(string); ok {
					c.set(key, d.vals[i])
				}
			}
		}
	case "to_dict", "to_diff_dict":
		return &dict{open: true}
	}
	return nil
}

// configClass reports whether a dotted name is a configuration class.
func configClass(path string) bool {
	return strings.HasPrefix(path, "transformers.") && strings.HasSuffix(path, "Config") && !strings.HasSuffix(path, "BitsAndBytesConfig") && path != "transformers.GPTQConfig" && path != "transformers.AwqConfig"
}

// heads maps a substring of a model class's name to the task that the class is trained for. The first match
// applies.
var heads = []struct{ part, head string }{
	{"ForCausalLM", "causal-lm"}, {"LMHead", "causal-lm"}, {"ForMaskedLM", "masked-lm"}, {"ForSeq2SeqLM", "seq2seq-lm"},
	{"ForConditionalGeneration", "seq2seq-lm"}, {"ForVision2Seq", "causal-lm"}, {"ForImageTextToText", "causal-lm"}, {"ForImageClassification", "image-classification"}, {"ForSemanticSegmentation", "semantic-segmentation"}, {"WithLMHead", "causal-lm"},
	{"ForSequenceClassification", "sequence-classification"}, {"ForTokenClassification", "token-classification"},
	{"ForQuestionAnswering", "question-answering"}, {"ForMultipleChoice", "multiple-choice"},
}

// headOf returns the head of a model class; "encoder" means none. It stops the script if the head is not
// simulated.
func (in *interpreter) headOf(class string) string {
	for _, h := range heads {
		if strings.Contains(class, h.part) {
			return h.head
		}
	}
	if strings.Contains(class, "For") {
		panic(stopped{&Unsimulated{fmt.Sprintf("%s: %s has a head that is not simulated; record the run: snug profile -- python3 %s", in.place(), class, in.File.Path)}})
	}
	return "encoder"
}
