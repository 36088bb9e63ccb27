// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/config/doc"
)

// bound is a binding with what it takes to change it.
type bound struct {
	Binding
	key    *Key
	source *source
	place  place
	// unknown is a word that the system understands and snug does not.
	unknown string
	// rivals are other places that may be the one that was meant.
	rivals []string
}

// findSettings finds the settings of a source.
func (s *source) findSettings() ([]bound, error) {
	if s.adapter.ByName {
		return s.bindNamed()
	}
	var out []bound
	settled := map[string]bool{}
	keys := s.adapter.Keys().all
	for i := range keys {
		k := &keys[i]
		if settled[k.Setting] && !k.together() || k.Path == "" {
			continue
		}
		if k.Beside != nil && !strings.Contains(k.Path, "*") {
			more, err := s.beside(k, strings.Split(k.Path, "."))
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		for _, p := range s.tree.expand(k.Path) {
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
	return s.more(out)
}

// more adds what a source holds under names of the user's own.
func (s *source) more(out []bound) ([]bound, error) {
	if s.adapter.Rest == nil {
		return out, nil
	}
	known := map[string]bool{}
	for _, b := range out {
		known[b.Setting] = true
	}
	named, err := newSource(s.file, s.adapter.Rest, s.tree).bindNamed()
	for _, b := range named {
		if !known[b.Setting] {
			b.source = s
			out = append(out, b)
		}
	}
	return out, err
}

// bound reads one key where it stands; nil where it is not there after all.
func (s *source) bound(k *Key, p []string) (*bound, error) {
	at, err := s.tree.find(p)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if at.value.Kind == doc.Map && s.adapter.within(k.Path) && (k.Kind != Link || !worked(at.value)) {
		return nil, nil // its own keys say it
	}
	value, err := valueReader{k}.read(s.tree, at)
	if err != nil {
		return nil, err
	}
	b := &bound{key: k, source: s, place: at, Binding: Binding{
		Setting: k.Setting, System: s.adapter.Name, File: at.file, Path: at.path, Value: value,
		Text: at.value.Text, Line: at.value.Line, Column: at.value.Column,
	}}
	if u, ok := value.(unknownWord); ok {
		b.Value, b.unknown = nil, u.text
	}
	return b, nil
}

// notes are what a person should know about a binding.
func (b bound) notes() []string {
	where := fmt.Sprintf("%s:%d", b.File, b.Line)
	var out []string
	if b.place.computed != "" {
		out = append(out, fmt.Sprintf("%s: %s is %s, which only the program itself works out", where, b.place.at, b.place.computed))
	}
	if b.unknown != "" {
		out = append(out, fmt.Sprintf("%s: %s %q is not one that snug knows", where, b.Setting, b.unknown))
	}
	if len(b.rivals) > 0 {
		out = append(out, fmt.Sprintf("%s: %s may be meant, or %s; bind the right one in snug.yaml", where, b.Path, strings.Join(b.rivals, ", ")))
	}
	if len(b.place.through) > 0 {
		out = append(out, fmt.Sprintf("%s stands at %s through %s", b.place.at, where, strings.Join(b.place.through, " and ")))
	}
	return out
}

// staged says that a setting has several values at different times or for
// different data, rather than one value in several files.
func (b bound) staged() bool {
	return b.Setting == "positives" || b.Setting == "negatives" || strings.Contains(b.key.Path, ".*.")
}
