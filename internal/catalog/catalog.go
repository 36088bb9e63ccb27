// SPDX-License-Identifier: Apache-2.0

// Package catalog knows well-known models by name: the values of their
// config.json that decide their shapes.
package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// models.jsonl is one model a line. Keys that transformers would give the same
// value by default are left out. dtype is what from_pretrained(dtype="auto") loads:
// the config's own, or that of the weights where it names none (as of BERT, GPT-2,
// T5); an entry without it could not be looked up.
//
//go:embed models.jsonl
var lines []byte

// variants.jsonl is models that share a config with one of models.jsonl, but for the
// values they have anew: its chat model, its copies, its shape with another vocabulary.
//
//go:embed variants.jsonl
var variantLines []byte

// variant is a line of it.
type variant struct {
	Hub    string         `json:"hub"`
	Of     string         `json:"of"`
	With   map[string]any `json:"with"`
	Params int            `json:"params"` // where they are not the original's
}

// Entry is one model.
type Entry struct {
	Name   string         `json:"name"`   // as users write it: llama-3.2-1b
	Hub    string         `json:"hub"`    // its name on the Hugging Face hub
	Params int            `json:"params"` // as published; for T5's line with the tied head that transformers 5 gives it
	Config map[string]any `json:"config"`
}

// all decodes the list when it is first asked for: most commands never do.
var all = sync.OnceValue(func() []Entry { return decode[Entry](lines) })

// others are the variants, called as on the hub.
var others = sync.OnceValue(func() []Entry {
	var out []Entry
	for _, v := range decode[variant](variantLines) {
		e := *match(all(), v.Of)
		config := maps.Clone(e.Config)
		maps.Copy(config, v.With)
		e.Name, e.Hub, e.Config = v.Hub, v.Hub, config
		if v.Params != 0 {
			e.Params = v.Params
		}
		out = append(out, e)
	}
	return out
})

func decode[T any](lines []byte) []T {
	var out []T
	for line := range bytes.Lines(lines) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			panic("catalog: " + err.Error() + " in " + string(line))
		}
		out = append(out, v)
	}
	return out
}

// Find is the model of that name, short or as on the hub, or nil. On the hub's
// names the organisation may be left out, as code from before there were any does:
// bert-base-uncased.
func Find(name string) *Entry {
	if e := match(all(), name); e != nil {
		return e
	}
	return match(others(), name)
}

func match(entries []Entry, name string) *Entry {
	for _, e := range entries {
		if strings.EqualFold(e.Name, name) || strings.EqualFold(e.Hub, name) {
			return &e
		}
	}
	for _, e := range entries {
		if strings.EqualFold(path.Base(e.Hub), name) {
			return &e
		}
	}
	return nil
}

// Names is the short names, in the order of the list, without the variants.
func Names() []string {
	var out []string
	for _, e := range all() {
		out = append(out, e.Name)
	}
	return out
}

// All is the whole list, with the variants.
func All() []Entry { return slices.Concat(all(), others()) }
