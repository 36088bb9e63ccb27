// SPDX-License-Identifier: Apache-2.0

// Package catalog is a built-in table of well-known models: for each name, the values in its config.json that
// determine tensor shapes. It contains no weights and uses no network.
package catalog

import (
	_ "embed"
	"encoding/json"
	"maps"
	"path"
	"strings"
	"sync"
)

// models.jsonl has one model per line. Keys that have transformers' default value are omitted. dtype is what
// from_pretrained(dtype="auto") loads: the config's own, or the type of the weights if the config has none (as for
// BERT, GPT-2, T5); for an entry without it, the type could not be determined.
//
//go:embed models.jsonl
var lines string

// variants.jsonl lists models that share a config with a model in models.jsonl, except for the values given: a chat
// model, a copy, the same shape with another vocabulary.
//
//go:embed variants.jsonl
var variantLines string

// variant is a line of variants.jsonl.
type variant struct {
	Hub    string         `json:"hub"`
	Of     string         `json:"of"`
	With   map[string]any `json:"with"`
	Params int            `json:"params"` // if different from the original's
}

// Entry is one model.
type Entry struct {
	Name   string         `json:"name"`   // as users write it, such as llama-3.2-1b
	Hub    string         `json:"hub"`    // its name on the Hugging Face hub
	Params int            `json:"params"` // as published; for T5, with the tied head that transformers 5 gives it
	Config map[string]any `json:"config"` // the keys of config.json that determine shapes
}

// model is a line of models.jsonl or variants.jsonl with its names. A line is decoded only when it is looked up,
// because decoding all lines takes as long as an estimate.
type model struct{ name, hub, line string }

// models are the lines of models.jsonl. variants are the lines of variants.jsonl, which have only hub names.
var (
	models   = sync.OnceValue(func() []model { return modelsIn(lines, "name") })
	variants = sync.OnceValue(func() []model { return modelsIn(variantLines, "hub") })
)

func modelsIn(lines, name string) []model {
	var out []model
	for line := range strings.Lines(lines) {
		out = append(out, model{valueOf(line, name), valueOf(line, "hub"), line})
	}
	return out
}

// valueOf returns the first string under a key in a line.
func valueOf(line, key string) string {
	_, rest, _ := strings.Cut(line, `"`+key+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// decode decodes a line.
func decode[T any](line string) T {
	var v T
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		panic("catalog: " + err.Error() + " in " + line)
	}
	return v
}

// entry returns the model of a line in variants.jsonl.
func (m *model) entry() Entry {
	v := decode[variant](m.line)
	e := decode[Entry](match(models(), v.Of).line)
	maps.Copy(e.Config, v.With)
	e.Name, e.Hub = v.Hub, v.Hub
	if v.Params != 0 {
		e.Params = v.Params
	}
	return e
}

// Find returns the model with a short name or a hub name, or nil. The organization may be omitted, as in old code:
// bert-base-uncased.
func Find(name string) *Entry {
	var e Entry
	if m := match(models(), name); m != nil {
		e = decode[Entry](m.line)
	} else if m = match(variants(), name); m != nil {
		e = m.entry()
	} else {
		return nil
	}
	return &e
}

func match(models []model, name string) *model {
	for i, m := range models {
		if strings.EqualFold(m.name, name) || strings.EqualFold(m.hub, name) {
			return &models[i]
		}
	}
	for i, m := range models {
		if strings.EqualFold(path.Base(m.hub), name) {
			return &models[i]
		}
	}
	return nil
}

// Names returns the short names in the order of the list, without the variants.
func Names() []string {
	var out []string
	for _, m := range models() {
		out = append(out, m.name)
	}
	return out
}
