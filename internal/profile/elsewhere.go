// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/gpu"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// A card of another kind runs other kernels. Of two the sources tell what they
// take there: the workspaces that cuBLAS keeps, which are four times as large on
// sm_90 as elsewhere, and the buffers of sums. They are planned with; what
// convolutions and attention take there is not known.

// elsewhere is the program as far as one of its variants goes on another kind of
// card, nil where that is the one of the recordings or nobody said which it is.
func (p *Program) elsewhere(card gpu.Card, like *variant) *Program {
	was, now := p.recordedOn(), shadow.Rules{Torch: rules().Torch, Capability: card.Capability, SMs: card.SMs}
	if card.Capability == 0 || now.Capability == was.Capability && now.SMs == was.SMs {
		return nil
	}
	q := *p
	q.formulas = slices.Clone(p.formulas)
	for i := range q.formulas {
		if f := &q.formulas[i]; f.sum != nil {
			sum := *f.sum
			sum.on = &now
			f.sum, f.seen = &sum, nil
		}
	}
	q.formulas = append(q.formulas, formula{terms: []term{{int64(now.CublasBytes()), 0}}})
	v := *like
	v.events = slices.Clone(like.events)
	for _, k := range p.cublas(like, was.CublasBytes()) {
		v.events[k].formula = uint32(len(p.formulas))
	}
	return q.with(like, v)
}

// with is p with one variant in place of another.
func (p Program) with(like *variant, v variant) *Program {
	p.variants = slices.Clone(p.variants)
	for i := range p.variants {
		if slices.Equal(p.variants[i].at, like.at) {
			p.variants[i] = v
			p.variants[i].close(&p)
		}
	}
	return &p
}

// recordedOn is what counts of the card of the recordings.
func (p *Program) recordedOn() shadow.Rules {
	r, card := rules(), p.card()
	r.Capability, r.SMs = card.Capability, card.SMs
	return r
}

// card is that of the recordings: the reference, where they do not say.
func (p *Program) card() gpu.Card {
	if card, err := gpu.Find(p.Card); err == nil && card.Capability > 0 {
		return card
	}
	return gpu.Reference
}

// cublas are the events that allocate its workspaces: of just that size, made in
// the first step and kept, and no optimizer states.
func (p *Program) cublas(v *variant, bytes uint64) (out []int) {
	states := p.states(v)
	for _, i := range p.kept(v) {
		f := &p.formulas[v.events[i].formula]
		if !slices.Contains(states, i) && f.constant() && f.terms[0].coef == int64(bytes) {
			out = append(out, i)
		}
	}
	return out
}

// kept are the events that allocate what does not depend on the quantities and
// is never let go, after the first that allocates what does.
func (p *Program) kept(v *variant) (out []int) {
	freed := make([]bool, v.made)
	for i := range v.events {
		if e := &v.events[i]; e.kind == stream.Free || e.kind == stream.FreeRequested {
			freed[e.id] = true
		}
	}
	begun := false
	for i := range v.events {
		e := &v.events[i]
		if e.kind != stream.Alloc {
			continue
		}
		fixed := p.formulas[e.formula].fixed()
		begun = begun || !fixed
		if begun && fixed && !freed[e.id] {
			out = append(out, i)
		}
	}
	return out
}
