// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// A script may start a trainer with a config and change some of its keys by flags: --model.flash_attention=false. A flag with
// the path of a key then has the key's meaning, whatever programs in general mean by its name, and replaces the key in the
// config.

// overrides are what a script's flags change in the main source.
type overrides struct {
	bound []Bound         // the flags, with the keys' meanings
	paths map[string]bool // the paths of the keys
	gone  map[string]bool // those that a flag turns off or sets to null
}

// overridesOf returns what a script's flags change in the main source.
func (s *Source) overridesOf(main *Source) (*overrides, error) {
	flags := map[string]doc.Path{}
	null := map[string]bool{}
	for _, v := range s.OwnValues() {
		if len(v.Path) == 1 && strings.HasPrefix(v.Path[0], "--") {
			name := flagPath(v.Path[0])
			flags[name], null[name] = v.Path, v.Value.Data == "null" || v.Value.Data == "None"
		}
	}
	o := &overrides{paths: map[string]bool{}, gone: map[string]bool{}}
	keys := main.System.Keys().All
	for i := range keys {
		k := &keys[i]
		at, is := flags[k.Path]
		if !is || k.Setting == "link" {
			continue
		}
		o.paths[k.Path] = true
		if null[k.Path] {
			o.gone[k.Path] = true
			continue
		}
		b, err := s.bound(k, at)
		if err != nil {
			return nil, err
		}
		if b != nil {
			o.bound = append(o.bound, *b)
			o.gone[k.Path] = b.Value == "" // the flag turns the key off or sets it to null
		}
	}
	o.bound = append(o.bound, s.overriddenSizes(main, flags)...)
	return o, nil
}

// replaces reports whether a flag takes the place of a binding of the main source. A setting keeps both, the flag first, so that
// an edit changes both.
func (o *overrides) replaces(b Bound) bool {
	return o != nil && (o.gone[b.Key.Path] || b.Key.OnlyNoted() && o.paths[b.Key.Path])
}

// Removed reports whether a script's flag removes the value at a path of the main source.
func (p *Found) Removed(s *Source, path string) bool {
	return s == p.Primary && p.overridden != nil && p.overridden.gone[path]
}

// flagPath returns the path in a config that a flag may stand for.
func flagPath(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "#")
	return strings.ReplaceAll(name, "-", "_")
}

// overriddenSizes returns the flags that change a value in a section that describes the model, as refused keys: the model is
// read from the config alone.
func (s *Source) overriddenSizes(main *Source, flags map[string]doc.Path) (out []Bound) {
	keys := main.System.Keys().All
	for name, at := range flags {
		isKey := slices.ContainsFunc(keys, func(k systems.Key) bool { return k.Path == name })
		inModel := slices.ContainsFunc(keys, func(k systems.Key) bool {
			return k.Setting == "model" && k.Kind == systems.Object && strings.HasPrefix(name, k.Path+".")
		})
		if isKey || !inModel {
			continue
		}
		if place, err := s.Tree.Find(at); err == nil {
			out = append(out, Bound{Key: &overriddenSize, Source: s, Place: place, Binding: Binding{
				Setting: overriddenSize.Setting, System: s.System.Name, File: place.File, Path: place.Path, Value: overriddenSize.Means,
				Text: place.Value.Text, Line: place.Value.Line, Column: place.Value.Column,
			}})
		}
	}
	return out
}

var overriddenSize = systems.Key{Setting: "refused", Path: "model", Kind: systems.Present, Means: "changes the model that the config describes"}
