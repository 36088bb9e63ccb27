// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/stream"
)

// A card of another kind runs other kernels. Of two the sources tell what they
// take there: the workspaces that cuBLAS keeps, which are four times as large on
// sm_90 as elsewhere, and the buffers of sums. They are planned with; what
// convolutions and attention take there is not known.

// elsewhere is the program as far as one of its variants goes on another kind of
// card, nil where that is the one of the recordings or nobody said which it is.
func (p *Program) elsewhere(card gpu.Card, like *variant) *Program {
	was, now := p.rules(), rulesOf(card, p.Torch)
	if card.Capability == 0 || now.Capability == was.Capability && now.SMs == was.SMs {
		return nil
	}
	q := p.summing(now)
	q.formulas = append(q.formulas, formula{terms: []term{{int64(now.Cublas()), 0}}})
	v := *like
	v.events = slices.Clone(like.events)
	for _, k := range p.cublas(like, was.Cublas()) {
		v.events[k].formula = uint32(len(p.formulas))
	}
	return q.with(like, v)
}

// summing is p with its sums as on another card, those of the recordings too.
func (p *Program) summing(on kernel.Rules) Program {
	q := *p
	q.on = &on
	q.formulas = slices.Clone(p.formulas)
	for i := range q.formulas {
		if f := &q.formulas[i]; f.sum != nil {
			f.seen = nil
		}
	}
	return q
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

// rules are those of the card that the program is for: the one of the recordings.
func (p *Program) rules() kernel.Rules {
	if p.on != nil {
		return *p.on
	}
	return rulesOf(p.card(), p.Torch)
}

func rulesOf(card gpu.Card, torch allocator.Version) kernel.Rules {
	return kernel.Rules{Torch: 100*torch.Major + torch.Minor, Capability: card.Capability, SMs: card.SMs}
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
