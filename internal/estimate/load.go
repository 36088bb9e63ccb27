// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/setup"
)

// Steps returns the peak of allocated bytes after loading.
func (p Phases) Steps() uint64 { return max(p.Forward, p.Backward, p.Optimizer) }

// loadDecides is the factor by which loading must exceed every step before a change is suggested.
const loadDecides = 1.05

// Sharded returns the run with its weights loaded in parts, if loading them whole determines the peak; nil if
// loading in parts would change nothing.
func (a *Answer) Sharded(card gpu.Card) (*Answer, error) {
	if !a.Setup.Dist.LoadsWhole() || float64(a.Phases.Load) < loadDecides*float64(a.Phases.Steps()) {
		return nil, nil
	}
	s, d := *a.Setup, *a.Setup.Dist
	d.Load = setup.LoadSharded
	s.Dist = &d
	return Figures(&s, card)
}
