// SPDX-License-Identifier: Apache-2.0

package stream

import "sort"

// A reader of a folded trace that does not unfold it sees plain events and loops. An allocation of the middle
// iteration represents many, one for each copy of that iteration. Copies are numbered in the order of the iterations,
// whichever direction the loop runs.

// Loop describes the iterations that the middle iteration of a pass represents.
type Loop struct {
	From, To int  // the events of the middle iteration, in the folded trace
	At       int  // the first event of the first copy, in the unfolded trace
	Times    int  // the number of iterations, including the middle one
	Down     bool // the last copy comes first
}

// Len returns the number of events in the unfolded trace.
func (f *Folded) Len() int { return f.At(len(f.Trace.Events)) }

// At converts the index of an event from the folded to the unfolded trace. For an event in a loop it
// returns the first copy.
func (f *Folded) At(i int) int {
	n := sort.Search(len(f.middles), func(k int) bool { return f.sections[f.middles[k]].to > i })
	if n == 0 {
		return i
	}
	return i + f.more[n-1]
}

// Loops returns the loops of the trace, in order.
func (f *Folded) Loops() []Loop {
	out := make([]Loop, 0, len(f.middles))
	for _, m := range f.middles {
		s := &f.sections[m]
		out = append(out, Loop{From: s.from, To: s.to, At: f.At(s.from), Times: f.Times, Down: f.passes[s.pass].step < 0})
	}
	return out
}

// Copied reports whether an allocation of the folded trace represents many.
func (f *Folded) Copied(id uint32) bool {
	return f.home[id] >= 0 && f.sections[f.home[id]].iteration == f.Middle
}

// Freed returns the ID of the allocation that event i of the folded trace frees, and the index of the freed copy if
// that allocation represents many, otherwise -1. If the event is in a loop, copy is the index of the iteration.
func (f *Folded) Freed(i, copy int) (id uint32, which int) {
	e := &f.Trace.Events[i]
	if e.Iteration == 0 || !f.near(e.Iteration) {
		return e.ID, -1
	}
	n := sort.Search(len(f.sections), func(k int) bool { return f.sections[k].to > i })
	return f.freed(&f.sections[n], e.ID, copy)
}

// freed is Freed for an event in a section near the middle.
func (f *Folded) freed(s *section, id uint32, copy int) (uint32, int) {
	h := &f.sections[f.home[id]]
	if !f.crosses(s.iteration, h.iteration) {
		return id, -1
	}
	iteration := int(s.iteration)
	switch {
	case s.iteration == f.Middle:
		iteration += copy
	case s.iteration > f.Middle:
		iteration += f.Times - 1
	}
	around := &f.passes[h.pass].around
	k, place := iteration+int(h.iteration)-int(s.iteration)-int(f.Middle), id-h.first
	switch {
	case k < 0:
		return f.sections[around[reach+k]].first + place, -1
	case k >= f.Times:
		return f.sections[around[reach+k-f.Times+1]].first + place, -1
	}
	return f.sections[around[reach]].first + place, k
}
