// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
)

// noteUnverified notes what a setup says of a recorded run that its profile does not
// tell. Config files say such things whether anybody asks or not, so that it is
// no mistake; but no figure depends on it.
func (s *Setup) noteUnverified(o *object, p Recorded) {
	for _, x := range Settings() {
		name := x.asOneWord()
		if o.has(x.Name) && !slices.Contains(s.Unverified, name) && (x.Told == nil || !x.Told(p)) {
			s.Unverified = append(s.Unverified, name)
		}
	}
	class := optimizerOf(p.Optimizer) != ""
	if class && o.has("optimizer") && plainOptimizer(s.Optimizer) != s.Optimizer {
		s.Unverified = append(s.Unverified, optimizerVariant)
	}
}

// optimizerVariant is what the class of an optimizer does not tell: adamw or
// adamw-fused, sgd or sgd-momentum.
const optimizerVariant = "the optimizer's variant"

// has says whether a field is given, or one of an object: "versions.cuda".
func (o *object) has(field string) bool {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		return o.keys[field] != nil
	}
	keys, _ := o.keys[outer].(map[string]any)
	return keys[inner] != nil
}

// AsRecorded is the setup without what is there on the user's word alone: what
// may stand over its figures.
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

// asOneWord is what a setting is called beside a profile: some objects are named whole.
func (x *Setting) asOneWord() string {
	object, _ := x.group()
	if slices.ContainsFunc(groups, func(g group) bool { return g.whole && g.name == object }) {
		return object
	}
	return x.Name
}
