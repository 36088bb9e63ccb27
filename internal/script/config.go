// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// configValue is a model's configuration: the setup's, with the script's changes.
type configValue struct {
	refs
	own       map[string]any // configuration of a model other than the setup's
	changed   map[string]any
	unknown   string   // its class, if models of that type are not simulated
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

// otherType returns the configuration that a class with these arguments makes if it is for another type of model than the
// setup's; nil if it is for the setup's, or a part of it.
func (in *interpreter) otherType(class string, a arguments) map[string]any {
	_, last, _ := cutLast(class)
	return in.ofType(knownType(strings.TrimSuffix(last, "Config")), a)
}

// ofType is otherType for the name of a type.
func (in *interpreter) ofType(kind string, a arguments) map[string]any {
	if in.Config == nil || kind == "" || kind == in.Config["model_type"] {
		return nil
	}
	written := writtenConfig(kind, a)
	if in.Complete != nil {
		return in.Complete(written)
	}
	return written
}

// copied implements copy.deepcopy of a configuration.
func (c *configValue) copied() *configValue {
	return &configValue{own: c.own, unknown: c.unknown, changed: maps.Clone(c.changed), attention: c.attention}
}

// change applies the arguments that are keys of a configuration.
func (c *configValue) change(a arguments) {
	for i, name := range a.names {
		if kind, ok := a.named[i].(string); ok && strings.TrimPrefix(name, "_") == "attn_implementation" {
			c.attention = kind
			continue
		}
		switch v := a.named[i].(type) {
		case int:
			c.changed[name] = float64(v)
		case float64, bool, string:
			if !notOfConfig[name] {
				c.changed[name] = v
			}
		case *dict:
			if name == "id2label" && !v.open && len(v.keys) > 0 {
				c.changed["num_labels"] = float64(len(v.keys))
			}
			c.changeTo(name, v)
		case *list:
			c.changeTo(name, v)
		}
	}
}

// changeTo sets a key to a list or an object, if all of it is known.
func (c *configValue) changeTo(name string, v value) {
	if plain, ok := plainValue(v); ok && !notOfConfig[name] {
		c.changed[name] = plain
	}
}

// plainValue converts a value to what a config.json holds, and reports whether all of it is known.
func plainValue(v value) (any, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64, bool, string, nil:
		return v, true
	case *list:
		if v.opaque || v.unseen {
			return nil, false
		}
		out := []any{}
		for _, x := range v.items {
			plain, ok := plainValue(x)
			if !ok {
				return nil, false
			}
			out = append(out, plain)
		}
		return out, true
	case *dict:
		if v.open || v.record {
			return nil, false
		}
		out := map[string]any{}
		for i, k := range v.keys {
			plain, ok := plainValue(v.vals[i])
			key, text := k.(string)
			if n, whole := k.(int); whole {
				key, text = strconv.Itoa(n), true
			}
			if !ok || !text {
				return nil, false
			}
			out[key] = plain
		}
		return out, true
	}
	return nil, false
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
	return configItem(v)
}

// configItem converts a value of a config.json to Python's.
func configItem(v any) value {
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
			out.items = append(out.items, configItem(x))
		}
		return out
	}
	return unknown{}
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
	"hidden_size": {"n_embd", "dim", "d_model"}, "num_hidden_layers": {"n_layer", "n_layers", "num_layers", "encoder_layers"}, "head_dim": {"d_kv"},
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
