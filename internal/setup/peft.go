// SPDX-License-Identifier: Apache-2.0

package setup

import "slices"

// completeLoRA fills in PEFT's defaults, from family/facts.go.
func (s *Setup) completeLoRA() error {
	l := s.LoRA
	if l == nil {
		return nil
	}
	if len(l.Targets) > 1 && slices.Contains(l.Targets, AllLinear) {
		others := slices.DeleteFunc(slices.Clone(l.Targets), func(t string) bool { return t == AllLinear })
		return Wrong("{lora.targets} combines %s with all-linear, which PEFT accepts only on its own; give all-linear, or list the names of all layers", spaced(others))
	}
	if len(l.Targets) == 0 {
		l.PEFT = true // only PEFT has defaults
		if l.Targets = s.Model.facts().LoRA; l.Targets == nil {
			return Wrong("{lora.targets} is empty, but PEFT has no defaults for %s; name the linear layers to adapt, such as q_proj and v_proj, or all-linear", s.Model.Title())
		}
	}
	return nil
}
