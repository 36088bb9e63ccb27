// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/stream"
)

// A different kind of card runs different kernels. For two of them, the sizes on other cards are known from their
// source code: the workspaces of cuBLAS, which are four times as large on sm_90, and the buffers of sums. Plans use
// these sizes. For convolutions and attention they are unknown.

// elsewhere returns the program for one variant on another kind of card; nil if the card is unknown or of the
// recorded kind.
func (p *Program) elsewhere(card gpu.Card, like *variant) *Program {
	was, now := p.rules(), card.Kernels(p.torch())
	if card.Capability == 0 && card.Maker != gpu.AMD || now == was {
		return nil
	}
	q := p.summing(now)
	q.formulas = append(q.formulas, formula{terms: []term{{int64(now.Cublas().N), 0}}})
	v := *like
	v.events = slices.Clone(like.events)
	for _, k := range p.cublas(like, was.Cublas().N) {
		v.events[k].formula = uint32(len(p.formulas))
	}
	return q.with(like, v)
}

// summing returns p with all sums, including recorded ones, computed for another card.
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

// with returns p with the variant v in place of like.
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

// rules returns the kernel rules for the program's card: the card of the recordings, unless summing has set a
// different one.
func (p *Program) rules() kernel.Rules {
	if p.on != nil {
		return *p.on
	}
	card, _ := p.card()
	return card.Kernels(p.torch())
}

// torch returns the recorded PyTorch release: 211 for 2.11.
func (p *Program) torch() int { return 100*p.Torch.Major + p.Torch.Minor }

// card returns the card of the recordings, or the reference card if the recorded card is missing or not in the
// catalog.
func (p *Program) card() (card gpu.Card, known bool) {
	card, err := gpu.Find(p.Card)
	if err != nil {
		return gpu.Reference, false
	}
	return card, true
}

// Unplaced reports whether the card of the recordings is unknown and nothing in them identifies it: no sum and no
// convolution took exactly what it takes on the reference card.
func (p *Program) Unplaced() bool {
	if _, known := p.card(); known {
		return false
	}
	for i := range p.formulas {
		switch f := &p.formulas[i]; {
		case f.certainty == Measured:
			return false
		case f.sum == nil:
			continue
		}
		for _, v := range p.variants {
			if p.formulas[i].sum.bytes(p.at(v.at), p.rules()) > 0 {
				return false
			}
		}
	}
	return true
}

// onOtherCards returns the program on one card of each generation for which the sizes differ, because cards split
// sums differently. sizes holds p's own sizes at these values.
func (p *Program) onOtherCards(values []int64, sizes []uint64) (out []*Program) {
	seen := [][]uint64{sizes}
	for _, name := range []string{"T4", "A100-80GB", "RTX-4090", "H100-80GB", "B200", "RTX-5090"} {
		card, err := gpu.Find(name)
		if err != nil {
			continue
		}
		q := p.summing(card.Kernels(p.torch()))
		there, err := q.sizes(values)
		equal := func(other []uint64) bool { return slices.Equal(other, there) }
		if err == nil && slices.ContainsFunc(seen, equal) {
			continue
		}
		seen, out = append(seen, there), append(out, &q)
	}
	return out
}

// cublas lists the events that allocate cuBLAS workspaces: allocations of exactly that size that are made in the
// first step, are kept, and are not optimizer states.
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

// kept lists the events that allocate memory of constant size that is never freed, after the first allocation that
// depends on the quantities.
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
