// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/stream"
)

// How far a run can be from its prediction depends on what the profile cannot determine. Among 446 predictions
// compared with real runs (34 models, all pairs and triples of their recordings), 431 were exact to the byte. The
// others have these causes, handled as follows:
//
//   - Workspaces without a formula or a measurement. The run is planned with them at zero, half, one
//     and a half times and twice their size. If the peak stays the same, no prediction was off by a
//     segment; otherwise the peaks of these plans are the bounds. For workspaces guessed from similar
//     convolutions these bounds would be too wide, because most guesses are right. Their bounds are
//     the measured errors of predictions with guesses (Guessed).
//   - Recordings of programs that differ, for example because a large batch uses different
//     kernels. Then some tensors have no counterpart or no formula, and others are paired wrongly
//     (Unlike).
//   - Sizes below all recorded ones, where other kernels are used (Smaller).
//   - A gradient scaler that skips updates (updates.go).
//
// All of these runs were on one kind of card. For another kind, the run is planned with what is known about that card
// (elsewhere.go), and all convolutions are treated as unmeasured.
//
// The distance from the recorded sizes does not matter: among 256 predictions without any of these causes, at up to
// 43 times the recorded size, one was off, by 10 MiB.

// Residual returns the range of errors for predictions from p without a plan: the widest range among predictions with
// the same causes.
func (p *Program) Residual() (r Residual) {
	for i := range p.formulas {
		switch f := &p.formulas[i]; {
		case f.certainty == Bounded:
			r = r.Or(residuals().Guessed)
		case f.alone():
			r = r.Or(residuals().Unlike)
		}
	}
	return r
}

// Margin is how far the reserved memory of a run may be from the prediction, and why. It excludes the rounding to
// whole segments.
type Margin struct {
	Less, More uint64  // bytes below and above the prediction
	Causes     []Cause // the reasons
}

// Cause is a reason why a run may reserve more or less than predicted.
type Cause int

// The causes.
const (
	Workspaces Cause = iota // workspaces without a formula or a measurement
	Unlike                  // recordings that differ in more than their size
	Smaller                 // a size below all recorded ones
	Updates                 // updates that a gradient scaler may skip
	Elsewhere               // a different kind of card from the recorded one
	Attention               // attention for which only one of the two cards has fast kernels
	Unplaced                // the card of the recordings is not known
	Drawn                   // steps of different sizes, which depend on the samples drawn
)

// matters is the smallest difference between plans that counts. Anything below the smallest segment for large tensors
// is lost in the allocator's rounding.
const matters = allocator.LargeBuffer

// Margin returns the uncertainty of a prediction for a card. A card without a compute capability means the recorded
// one. Margin calls peak to get the memory that variations of p reserve at that size; if p determines everything,
// peak is not called.
func (p *Program) Margin(at Point, card gpu.Card, peak func(*Program) (uint64, error)) (Margin, error) {
	values, err := p.values(at)
	if err != nil {
		return Margin{}, err
	}
	if p.ragged != nil {
		return p.raggedMargin(values, card, peak)
	}
	sizes, err := p.sizes(values)
	if err != nil {
		return Margin{}, err
	}
	v := p.nearest(values)
	known := residuals()
	w := &worstCase{peak: peak, plain: p}
	w.plan(Updates, p.leavingOut(v))
	guess := (*formula).guess
	if q := p.elsewhere(card, v); q != nil {
		w.because(Elsewhere)
		w.plan(Elsewhere, []*Program{q})
		was, _ := p.card()
		had, has := was.Flash(), card.Flash()
		w.known(Attention, known.FlashLost, had && !has)
		w.known(Attention, known.FlashGained, has && !had)
		guess = func(f *formula) bool { return f.measured != nil } // measurements are valid only on the card that was measured
	}
	if p.recordedAt(values) == none {
		if p.Unplaced() {
			w.plan(Unplaced, p.onOtherCards(values, sizes))
		}
		w.known(Unlike, known.Unlike, p.unpaired(v, sizes) > matters)
		w.known(Smaller, known.Smaller, p.below(values))
		w.plan(Workspaces, p.rescaled(v, sizes, (*formula).bounded))
		w.guess(p.rescaled(v, sizes, guess))
	}
	return w.margin()
}

// below reports whether a size is smaller than all recorded ones.
func (p *Program) below(values []int64) bool {
	for k, value := range values {
		if !slices.ContainsFunc(p.variants, func(w variant) bool { return w.at[k] <= value }) {
			return true
		}
	}
	return false
}

// unpaired returns the peak memory in tensors that only one recording has, or that have no formula. Short-lived
// allocations are kernel workspaces, not tensors.
func (p *Program) unpaired(v *variant, sizes []uint64) (most uint64) {
	alive, now := map[uint32]uint64{}, uint64(0)
	for i := range v.events {
		switch e := &v.events[i]; e.kind {
		case stream.Alloc:
			f := &p.formulas[e.formula]
			if !v.moment(i) && (f.alone() || f.bounded()) {
				alive[e.id] = sizes[e.formula]
				now += sizes[e.formula]
				most = max(most, now)
			}
		case stream.Free, stream.FreeRequested:
			now -= alive[e.id]
			delete(alive, e.id)
		}
	}
	return most
}

// bounded reports whether the size of an allocation is known only from the recordings.
func (f *formula) bounded() bool { return f.certainty == Bounded && f.measured == nil }

// guess reports whether the allocation is a workspace taken from similar convolutions.
func (f *formula) guess() bool { return f.certainty == Bounded && f.measured != nil }

// alone reports whether only one recording had the allocation: a one-term formula over two sizes would not be
// Bounded.
func (f *formula) alone() bool {
	return f.certainty == Fitted && len(f.terms) == 1 && f.sum == nil && f.measured == nil
}

// moment reports whether the event after i frees what event i allocates.
func (v *variant) moment(i int) bool {
	return i+1 < len(v.events) && v.events[i+1].kind == stream.Free && v.events[i+1].id == v.events[i].id
}
