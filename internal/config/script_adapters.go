// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"snug/internal/config/doc"
	"strings"
)

// A script puts adapters onto its model with PEFT's LoraConfig. Its arguments count
// where the call has a name or is an argument by name, as peft_config=LoraConfig(...).

// isLoraConfig knows LoraConfig(…) and peft.LoraConfig(…).
func isLoraConfig(text string) bool {
	class, _, call := strings.Cut(text, "(")
	return call && (class == "LoraConfig" || strings.HasSuffix(class, ".LoraConfig")) && isDottedName(class)
}

// adaptersInCode binds the arguments of the one LoraConfig of a Python script, where its
// rank is a number: of several only the program knows which one it takes.
func (s *source) adaptersInCode(out []bound) ([]bound, error) {
	var calls []place
	s.tree.walk(func(p doc.Path, v doc.Value) {
		if v.Kind != doc.Map || !isLoraConfig(v.Text) {
			return
		}
		at, err := s.tree.find(p)
		if err == nil && !slices.ContainsFunc(calls, func(o place) bool { return o.value.Start == at.value.Start }) {
			calls = append(calls, at)
		}
	})
	if len(calls) != 1 {
		return out, nil
	}
	var found []bound
	for i := range loraArguments {
		k := &loraArguments[i]
		b, err := s.bound(k, calls[0].at.Join(k.Path))
		if err != nil {
			return nil, err
		}
		taken := slices.ContainsFunc(out, func(o bound) bool { return o.Setting == k.Setting })
		if b != nil && !taken {
			found = append(found, *b)
		}
	}
	if !slices.ContainsFunc(append(out, found...), func(b bound) bool { _, is := b.Value.(int); return is && b.Setting == "lora.rank" }) {
		return out, nil
	}
	for i := range loraMade {
		at := calls[0]
		found = append(found, bound{key: &loraMade[i], source: s, place: at, Binding: Binding{
			Setting: loraMade[i].Setting, System: s.adapter.Name, File: at.file, Path: at.path, Value: true,
			Text: at.value.Text, Line: at.value.Line, Column: at.value.Column,
		}})
	}
	return append(out, found...), nil
}
