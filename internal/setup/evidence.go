// SPDX-License-Identifier: Apache-2.0

package setup

// Evidence returns the groups of measured runs that a setup belongs to. They determine how far off its estimate may
// be.
func Evidence(s *Setup) []string {
	var out []string
	for _, x := range Settings() {
		if x.Evidence != nil {
			out = append(out, x.Evidence(s)...)
		}
	}
	return out
}

// where returns a function that puts setups that meet a condition into a group.
func where(holds func(*Setup) bool, group string) func(*Setup) []string {
	return func(s *Setup) []string { return onlyWhere(holds(s), group) }
}

func onlyWhere(holds bool, group string) []string {
	if !holds {
		return nil
	}
	return []string{group}
}

func (s *Setup) tunerEvidence() []string {
	if s.LoRA == nil || s.LoRA.Tuner == LoRATuner || s.LoRA.Tuner == "" {
		return nil
	}
	return []string{s.LoRA.Tuner}
}

func (s *Setup) ligerEvidence() []string {
	var out []string
	for _, part := range s.Liger {
		out = append(out, "liger "+part)
	}
	return out
}

func (s *Setup) distEvidence() []string {
	if s.Dist == nil {
		return nil
	}
	return []string{"dist " + s.Dist.Kind}
}
