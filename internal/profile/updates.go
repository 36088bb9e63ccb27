// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/stream"
)

// In float16 the scale of the gradients begins so high that they often overflow. Then the update is
// skipped and the scale is halved. Whether that happens depends on values that are not known before the
// run. Until its first update a run has no optimizer states, and if they are made later they fill other
// holes.
//
// A recording shows the states: among all stretches of events without an allocation that grows with the
// batch, as in an update, the first update leaves by far the most memory behind.

// leavingOut returns the programs of runs that never make an update, and of runs that make it one step
// later, for one variant, if they can be derived. Only runs in float16 have them.
func (p *Program) leavingOut(v *variant) []*Program {
	if p.Facts.Precision != "amp-fp16" {
		return nil
	}
	states := p.states(v)
	if len(states) == 0 {
		return nil
	}
	begins := v.updates(states)
	never := *v
	never.events = v.without(p.inUpdates(v, states, begins))
	never.inOrder()
	out := []*Program{p.with(v, never)}
	if len(begins) > 1 {
		out = append(out, p.with(v, v.moving(states, begins[1])))
	}
	return out
}

// states returns the events that allocate the optimizer states.
func (p *Program) states(v *variant) (states []int) {
	var these []int
	next := 0 // event
	for _, i := range p.kept(v) {
		for ; next < i; next++ {
			if e := &v.events[next]; e.kind == stream.Alloc && !p.formulas[e.formula].fixed() {
				these = nil
			}
		}
		if these = append(these, i); len(these) > len(states) {
			states = these
		}
	}
	return states
}

// fixed reports whether a size does not depend on the quantities.
func (f *formula) fixed() bool {
	grows := func(t term) bool { return t.mono != 0 }
	return f.sum == nil && f.measured == nil && !slices.ContainsFunc(f.terms, grows)
}

// passage is how many events before an update are compared to find the next one:
// the end of a backward pass.
const passage = 64

// updates lists the events at which the first update, which makes the states, and later ones begin: each
// is preceded by a passage like that before the states.
func (v *variant) updates(states []int) []int {
	first, last := states[0], states[len(states)-1]
	n := min(passage, first)
	want := v.events[first-n : first]
	out := []int{first}
	for at := last + n; n > 0 && at <= len(v.events); at++ {
		if slices.EqualFunc(want, v.events[at-n:at], event.alike) {
			out = append(out, at)
			at += n
		}
	}
	return out
}

// inUpdates lists the states, and what is allocated and freed again before the next allocation that grows
// with the batch.
func (p *Program) inUpdates(v *variant, states, begins []int) map[int]bool {
	out := map[int]bool{}
	for _, i := range states {
		out[i] = true
	}
	for _, begin := range begins {
		made := map[uint32]int{}
		for i := begin; i < len(v.events); i++ {
			e := &v.events[i]
			if e.kind == stream.Alloc {
				if !p.formulas[e.formula].fixed() {
					break
				}
				made[e.id] = i
			} else if at, ok := made[e.id]; ok && e.kind == stream.Free {
				out[at], out[i] = true, true
			}
		}
	}
	return out
}

// alike reports whether two events do the same, to any allocation.
func (e event) alike(o event) bool {
	return e.kind == o.kind && e.queue == o.queue && (e.kind != stream.Alloc || e.formula == o.formula)
}

// without returns v's events except some of them.
func (v *variant) without(events map[int]bool) []event {
	var out []event
	for i, e := range v.events {
		if !events[i] {
			out = append(out, e)
		}
	}
	return out
}

// moving returns v with the allocations of some events moved to just before event to.
func (v *variant) moving(events []int, to int) variant {
	gone := map[int]bool{}
	var moved []event
	for _, i := range events {
		gone[i] = true
		moved = append(moved, v.events[i])
	}
	out := *v
	out.events = slices.Insert(v.without(gone), to-len(events), moved...)
	out.inOrder()
	return out
}
