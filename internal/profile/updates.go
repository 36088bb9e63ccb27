// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/stream"
)

// With float16, the initial gradient scale is so high that gradients often overflow. Then the update is skipped and
// the scale is halved. Whether this happens depends on values that are unknown before the run. A run has no optimizer
// states before its first update, and states that are allocated later fill other holes.
//
// The states can be found in a recording: an update is a stretch of events without an allocation that grows with the
// batch, and among all such stretches the first update leaves by far the most memory behind.

// leavingOut returns, for one variant, the programs of a run that never updates and of a run that first updates one
// step later, if they can be derived. It returns nil unless the run uses float16.
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
	next := 0 // index of the next event
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

// fixed reports whether the size is independent of the quantities.
func (f *formula) fixed() bool {
	grows := func(t term) bool { return t.mono != 0 }
	return f.sum == nil && f.measured == nil && !slices.ContainsFunc(f.terms, grows)
}

// passage is the number of events before an update that are compared to find the next one: the end of a backward
// pass.
const passage = 64

// updates lists the events at which updates begin: the first, which allocates the states, and each later one. Each is
// preceded by the same passage.
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

// inUpdates returns the events that allocate the states, and those that allocate and free memory again before the
// next allocation that grows with the batch.
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

// alike reports whether two events are equal except for the allocation that they refer to.
func (e event) alike(o event) bool {
	return e.kind == o.kind && e.queue == o.queue && (e.kind != stream.Alloc || e.formula == o.formula)
}

// without returns v's events except the given ones.
func (v *variant) without(events map[int]bool) []event {
	var out []event
	for i, e := range v.events {
		if !events[i] {
			out = append(out, e)
		}
	}
	return out
}

// moving returns v with the given events moved to just before event to.
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
