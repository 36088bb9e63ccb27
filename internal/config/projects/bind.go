// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Bound is a binding with the information needed to change it.
type Bound struct {
	Binding
	Key    *systems.Key // its row in the table
	Source *Source      // the configuration that it was found in
	Place  tree.Place   // where it is in that configuration
	// Unknown is a word that the system accepts but snug does not know.
	Unknown string
	// rivals are other places that may have been meant.
	rivals []string
}

// findSettings finds the settings of a source.
func (s *Source) findSettings() ([]Bound, error) {
	if s.System.ByName {
		return s.bindNamed()
	}
	var out []Bound
	settled := map[string]bool{}
	keys := s.System.Keys().All
	for i := range keys {
		k := &keys[i]
		if settled[k.Setting] && !k.Together() && !k.OfSharding || k.Path == "" {
			continue
		}
		if k.Beside != nil && !strings.Contains(k.Path, "*") {
			more, err := s.beside(k, strings.Split(k.Path, "."))
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		for _, p := range s.Tree.Expand(k.Path) {
			b, err := s.bound(k, p)
			if err != nil {
				return nil, err
			}
			if b != nil {
				out = append(out, *b)
				settled[k.Setting] = true
			}
		}
	}
	return s.bindRest(out)
}

// bindRest adds the settings that a source has under the user's own names.
func (s *Source) bindRest(out []Bound) ([]Bound, error) {
	if s.System.Rest == nil {
		return out, nil
	}
	known := map[string]bool{}
	for _, b := range out {
		known[b.Setting] = true
	}
	named, err := NewSource(s.File, s.System.Rest, s.Tree).bindNamed()
	for _, b := range named {
		if !known[b.Setting] {
			b.Source = s
			out = append(out, b)
		}
	}
	return out, err
}

// bound returns the binding of a key at a path; nil if there is no value.
func (s *Source) bound(k *systems.Key, p []string) (*Bound, error) {
	at, err := s.Tree.Find(p)
	if errors.Is(err, tree.ErrAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !s.Counts(k) {
		return nil, nil
	}
	if at.Value.Kind == doc.Map && s.System.Within(k.Path) && k.Kind != systems.Present && k.Kind != systems.Object && (k.Kind != systems.Link || !IsComputed(at.Value)) {
		return nil, nil // the keys in the map are read separately
	}
	value, err := valueReader{k}.read(s.Tree, at)
	if err != nil {
		return nil, err
	}
	b := &Bound{Key: k, Source: s, Place: at, Binding: Binding{
		Setting: k.Setting, System: s.System.Name, File: at.File, Path: at.Path, Value: value,
		Text: at.Value.Text, Line: at.Value.Line, Column: at.Value.Column,
	}}
	if u, ok := value.(unknownWord); ok {
		b.Value, b.Unknown = nil, u.text
	}
	return b, nil
}

// Counts reports whether a key takes effect: the switch that it depends on, if any, is set.
func (s *Source) Counts(k *systems.Key) bool {
	switchAt := cmp.Or(k.OnlyIf, k.OnlyOff)
	if switchAt == "" {
		return true
	}
	at, err := s.Tree.Find(strings.Split(switchAt, "."))
	if err != nil {
		return false
	}
	on, known := systems.AsBool(at.Value)
	return on && k.OnlyIf != "" || k.OnlyOff != "" && (known && !on || at.Value.Kind == doc.Null)
}

// notes returns what the user should know about a binding.
func (b Bound) notes() []string {
	where := fmt.Sprintf("%s:%d", b.File, b.Line)
	var out []string
	if b.Place.Computed != "" {
		out = append(out, fmt.Sprintf("%s: %s is %s, which is computed at run time", where, b.Place.At, b.Place.Computed))
	}
	if b.Unknown != "" {
		out = append(out, fmt.Sprintf("%s: %s %q is not known to snug", where, b.Setting, b.Unknown))
	}
	if len(b.rivals) > 0 {
		out = append(out, b.ambiguity())
	}
	if len(b.Place.Through) > 0 {
		out = append(out, fmt.Sprintf("%s is defined at %s, through %s", b.Place.At, where, strings.Join(b.Place.Through, " and ")))
	}
	return out
}

// ambiguity returns the note on a binding with rivals.
func (b Bound) ambiguity() string {
	return fmt.Sprintf("%s:%d: this could be %s or %s; bind the right one in snug.yaml", b.File, b.Line, b.Path, strings.Join(b.rivals, ", "))
}

// Staged reports whether a setting has different values for different phases or datasets, rather than one
// value in several files.
func (b Bound) Staged() bool {
	return b.Setting == "positives" || b.Setting == "negatives" || strings.Contains(b.Key.Path, ".*.")
}
