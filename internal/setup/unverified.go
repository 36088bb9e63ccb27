// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
)

// noteUnverified records the fields of a recorded run's setup that its profile cannot confirm. Config files often
// contain such fields, so they are not an error; but no figure depends on them.
func (s *Setup) noteUnverified(o *object, p Recorded) {
	for _, x := range Settings() {
		name := x.asOneWord()
		if o.has(x.Name) && !slices.Contains(s.Unverified, name) && (x.ShownByProfile == nil || !x.ShownByProfile(p)) {
			s.Unverified = append(s.Unverified, name)
		}
	}
	class := optimizerOf(p.Optimizer) != ""
	if class && o.has("optimizer") && plainOptimizer(s.Optimizer) != s.Optimizer {
		s.Unverified = append(s.Unverified, optimizerVariant)
	}
}

// optimizerVariant stands for the part of an optimizer that its class does not show: adamw or adamw-fused, sgd or
// sgd-momentum.
const optimizerVariant = "the optimizer's variant"

// has reports whether a field is given, including fields inside an object, such as "versions.cuda".
func (o *object) has(field string) bool {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		return o.keys[field] != nil
	}
	keys, _ := o.keys[outer].(map[string]any)
	return keys[inner] != nil
}

// AsRecorded returns the setup without the fields that the profile cannot confirm, for display above the profile's
// figures.
func (s *Setup) AsRecorded() *Setup {
	t := *s
	if s.Dist != nil {
		d := *s.Dist
		t.Dist = &d
	}
	for _, field := range s.Unverified {
		switch x := Find(field); {
		case field == "lora":
			t.LoRA = nil
		case field == "quantization":
			t.Quantization = nil
		case field == optimizerVariant:
			t.Optimizer = plainOptimizer(s.Optimizer)
		case x != nil:
			x.clear(&t)
		}
	}
	return &t
}

// asOneWord returns a setting's name in messages about a profile; some objects are named as a whole.
func (x *Setting) asOneWord() string {
	object, _ := x.group()
	if slices.ContainsFunc(groups, func(g group) bool { return g.whole && g.name == object }) {
		return object
	}
	return x.Name
}
