// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// uncertaintyOf returns a function that computes how much more than the probe a run may reserve because of
// unknowns: additional DDP buckets, and kernels whose memory is unknown on the card. Updates skipped in float16 are
// not considered here, only in Estimate, because they usually reduce memory.
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

// extraIf returns how much more the run reserves with the options o, or fallback if it cannot be simulated.
func (p *Probe) extraIf(s *setup.Setup, o simulate.Options, fallback uint64) uint64 {
	made, err := streamOf(s, o)
	if err != nil {
		return fallback
	}
	got, err := made.play(p.Setup, gpu.Card{}, 0, playing{brief: true, work: maxTried})
	if err != nil || got.OOM != nil {
		return fallback
	}
	own, err := p.Peaks()
	if err != nil {
		return fallback
	}
	return got.PeakReserved - min(own.Reserved, got.PeakReserved)
}
