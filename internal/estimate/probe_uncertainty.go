// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// uncertaintyOf finds how much more than a probe a run may reserve for what nobody can know
// before it: DDP's buckets that come on top, and kernels whose needs are not known on
// the card. Updates that float16 leaves out are for Estimate, as they mostly take less.
func (p *Probe) uncertaintyOf(s *setup.Setup, card gpu.Card, result *simulate.Result) func() uint64 {
	late := uint64(0)
	if s.Dist != nil && s.Dist.Kind == "ddp" {
		late = result.Gradients
	}
	open := openBytes(result.World.Open)
	return func() uint64 {
		if open <= segment {
			return late + open
		}
		return late + p.extraIf(s, simulate.Options{Card: card, Side: kernel.Most, Brief: true, Folds: true}, open)
	}
}

// extraIf is how much more the run reserves if it goes as o says, or else so much, where it
// would ask for more than there can be.
func (p *Probe) extraIf(s *setup.Setup, o simulate.Options, fallback uint64) uint64 {
	made, err := streamOf(s, o)
	if err != nil {
		return fallback
	}
	got, err := made.play(p.Setup, gpu.Card{}, 0, playing{brief: true, work: mostTried})
	if err != nil || got.OOM != nil {
		return fallback
	}
	return got.PeakReserved - min(p.PeakReserved, got.PeakReserved)
}
