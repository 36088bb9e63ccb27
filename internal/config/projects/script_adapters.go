// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// A script adds adapters to its model with PEFT's LoraConfig. The arguments are read if the call is assigned
// to a name or is an argument of another, as in peft_config=LoraConfig(...) and get_peft_model(model, LoraConfig(...)).

// isLoraConfig reports whether text is LoraConfig(…) or peft.LoraConfig(…).
func isLoraConfig(text string) bool {
	class, _, call := strings.Cut(text, "(")
	return call && (class == "LoraConfig" || strings.HasSuffix(class, ".LoraConfig")) && isDottedName(class)
}

// adaptersInCode adds bindings for the arguments of a Python script's LoraConfig, if there is only one and
// its rank is a number, or comes from the shell script that starts the program. If there are several, it is not known
// which one the program uses.
func (s *Source) adaptersInCode(out []Bound) ([]Bound, error) {
	var calls []tree.Place
	s.Tree.Walk(func(p doc.Path, v doc.Value) {
		if v.Kind != doc.Map || !isLoraConfig(v.Text) {
			return
		}
		at, err := s.Tree.Find(p)
		if err == nil && !slices.ContainsFunc(calls, func(o tree.Place) bool { return o.Value.Start == at.Value.Start }) {
			calls = append(calls, at)
		}
	})
	if len(calls) != 1 {
		return out, nil
	}
	var found []Bound
	for _, k := range systems.LoRAArguments() {
		b, err := s.bound(&k, calls[0].At.Join(k.Path))
		if err != nil {
			return nil, err
		}
		taken := slices.ContainsFunc(out, func(o Bound) bool { return o.Setting == k.Setting })
		if b != nil && !taken {
			found = append(found, *b)
		}
	}
	if !s.rankGiven && !slices.ContainsFunc(append(out, found...), func(b Bound) bool { _, is := b.Value.(int); return is && b.Setting == "lora.rank" }) {
		return out, nil
	}
	for _, k := range systems.LoRAMade() {
		at := calls[0]
		found = append(found, Bound{Key: &k, Source: s, Place: at, Binding: Binding{
			Setting: k.Setting, System: s.System.Name, File: at.File, Path: at.Path, Value: true,
			Text: at.Value.Text, Line: at.Value.Line, Column: at.Value.Column,
		}})
	}
	return append(out, found...), nil
}
