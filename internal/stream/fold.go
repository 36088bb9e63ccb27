// SPDX-License-Identifier: Apache-2.0

package stream

import "slices"

// A model that runs token by token does the same for each token: a thousand iterations of one loop, in every layer,
// forward and backward. A folded trace has only a few of them. The first and the last iterations are stored as they
// are; the middle one represents itself and all missing ones.
//
// The missing iterations are derived from the middle one. They are not plain copies, because an event may free an
// allocation of its own iteration, of the one before or after, or, in the backward pass, of the same iteration of the
// forward pass. So an allocation is identified by its pass, its iteration, and its position in the iteration. A copy
// of the middle iteration frees the allocation with the same position in the iteration at the same distance.
//
// None of this is assumed. The iterations around the middle one have to agree in all of it, in each pass; otherwise
// nothing is unfolded.

// Fold describes how a loop was folded.
type Fold struct {
	Middle uint8 // the iteration that represents others, counting from 1
	Times  int   // the number of iterations it represents, including itself
}

// reach is the number of iterations on either side of the middle one that must equal it, and the largest distance at
// which an event may free an allocation of another iteration.
const reach = 2

// section is a stretch of events in one iteration.
type section struct {
	iteration uint8
	from, to  int
	pass      int
	first     uint32 // first ID allocated, and number of IDs
	made      uint32
}

// pass is a sequence of sections with consecutive iterations, up or down.
type pass struct {
	step   int // +1 up, -1 down, 0 for a single section
	around [2*reach + 1]int
}

// Folded is a trace whose folded loops have been checked to be alike, so that every iteration is known without being
// stored. Its methods use indices into the unfolded trace, which is much longer; At converts them.
type Folded struct {
	Fold
	Trace *Trace // the events, with each loop folded

	sections []section
	passes   []pass
	home     []int32 // the section that allocated an ID; -1 if none did
	middles  []int   // the sections that represent others, in order
	more     []int   // for each of middles, the number of events that unfolding adds up to and including it
}

// Folded finds the loops in a trace. It returns false if their iterations are not alike.
func (t *Trace) Folded(f Fold) (*Folded, bool) {
	u := &Folded{Fold: f, Trace: t}
	u.divide()
	if f.Times <= reach || f.Middle <= reach || !u.join() || !u.alike() {
		return nil, false
	}
	more := 0
	for i := range u.passes {
		if at := u.passes[i].around[reach]; at >= 0 {
			more += (f.Times - 1) * (u.sections[at].to - u.sections[at].from)
			u.middles, u.more = append(u.middles, at), append(u.more, more)
		}
	}
	return u, u.keepsApart() && u.copiesMatch()
}

// divide finds the sections, and the section that allocated each ID.
func (u *Folded) divide() {
	u.home = make([]int32, u.Trace.next)
	for i := range u.home {
		u.home[i] = -1
	}
	for i := range u.Trace.Events {
		e := &u.Trace.Events[i]
		if e.Iteration == 0 {
			continue
		}
		last := len(u.sections) - 1
		if last < 0 || u.sections[last].to != i || u.sections[last].iteration != e.Iteration {
			u.sections = append(u.sections, section{iteration: e.Iteration, from: i})
			last++
		}
		s := &u.sections[last]
		s.to = i + 1
		if e.Kind == Alloc {
			if s.made == 0 {
				s.first = e.ID
			}
			s.made++
			u.home[e.ID] = int32(last)
		}
	}
}

// join combines sections into passes. It returns false if a pass has some of the iterations around the
// middle one but not all.
func (u *Folded) join() bool {
	for i := range u.sections {
		s := &u.sections[i]
		if !u.follows(i) {
			u.passes = append(u.passes, pass{around: noSections})
		}
		s.pass = len(u.passes) - 1
		if d := int(s.iteration) - int(u.Middle); -reach <= d && d <= reach {
			u.passes[s.pass].around[d+reach] = i
		}
	}
	for i := range u.passes {
		around := u.passes[i].around
		if around != noSections && slices.Contains(around[:], -1) {
			return false
		}
	}
	return true
}

var noSections = [2*reach + 1]int{-1, -1, -1, -1, -1}

// follows reports whether section i continues the pass of the section before it.
func (u *Folded) follows(i int) bool {
	if i == 0 || u.sections[i-1].to != u.sections[i].from {
		return false
	}
	p := &u.passes[len(u.passes)-1]
	step := int(u.sections[i].iteration) - int(u.sections[i-1].iteration)
	if step != p.step && p.step != 0 || step != 1 && step != -1 {
		return false
	}
	p.step = step
	return true
}
