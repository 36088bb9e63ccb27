// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// margin returns how much less and more than estimated a recorded run may reserve, because of unknowns in its
// profile and memory outside the recording. One segment is always included, because runs differ by one at random.
func margin(s *setup.Setup, card gpu.Card, peak uint64) (profile.Margin, error) {
	m, err := Profile(s).Margin(s.At(), card, func(p *profile.Program) (uint64, error) { return reserved(s, p) })
	r := outsideProfile(s)
	m.Less = max(m.Less, uint64(-r.Low*float64(peak)), segment)
	m.More = max(m.More, uint64(r.High*float64(peak)), segment)
	return m, err
}

// High returns how much more than estimated the run may reserve on a card without measurements, for the setup s. For
// a recorded run it is computed once.
func (p *Probe) High(s *setup.Setup, card gpu.Card, limit uint64) uint64 {
	if Profile(s) == nil {
		return High(s, card, limit, nil) + p.uncertain() + unsimulated(s, limit)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := [2]int{card.Capability, card.SMs}
	if more, ok := p.more[kind]; ok {
		return more
	}
	m, err := margin(p.Setup, card, p.peaks.Reserved)
	if err != nil { // the size exceeds any memory
		return High(s, card, limit, nil)
	}
	if p.more == nil {
		p.more = map[[2]int]uint64{}
	}
	p.more[kind] = m.More
	return m.More
}

// unsimulated returns the part of a limit to reserve for memory that is not simulated: torch.compile's, and tensors
// that a script may keep in code that could not be followed. It agrees with Answer.compiled and unfollowed for a
// run that fills the limit.
func unsimulated(s *setup.Setup, limit uint64) uint64 {
	share := 0.0
	if s.Compiles() {
		share += compiledMore
	}
	switch {
	case !simulate.Follows(s) || !s.Script.PartlyFollowed():
	case s.Script.OwnModel():
		share += unfollowedModel
	default:
		share += unfollowedLoop
	}
	return uint64(float64(limit) * share / (1 + share))
}

// reserved returns the peak that the run would reserve with program p instead of its own, without a limit.
func reserved(s *setup.Setup, p *profile.Program) (uint64, error) {
	other := *s
	other.Model.Program = program{p}
	probe := unplayed(&other)
	err := probe.predict()
	var oom *allocator.OutOfMemoryError
	if errors.As(err, &oom) {
		err = profile.ErrTooLarge
	}
	return probe.peaks.Reserved, err
}

// outsideProfile returns the error of recorded runs for reasons outside their profile. With several GPUs a free can
// wait for another stream, so even two equal runs do not reserve the same memory.
func outsideProfile(s *setup.Setup) (r Range) {
	if Kept(s) > 0 {
		r = residuals().Added
	}
	if s.Dist != nil {
		g := residuals().several(s.Dist.Kind)
		far := max(-g.Low, g.High)
		r.Low, r.High = min(r.Low, -far), max(r.High, far)
	}
	return r
}

// several returns the range of errors for runs over several GPUs with this kind of data parallelism or, if too few
// were measured, with any.
func (t Residuals) several(kind string) Range {
	if g := t.Several[kind]; g.Cases >= enough {
		return g
	}
	return t.Several[""]
}

// with combines the errors of a run and of its profile.
func (r Range) with(o profile.Residual) Range {
	return Range{Cases: r.Cases, Low: min(r.Low, o.Low), High: max(r.High, o.High)}
}
