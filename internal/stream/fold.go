// SPDX-License-Identifier: Apache-2.0

package stream

import "slices"

// A model that goes token by token does the same for each of them: a thousand
// turns of one loop, in every layer, forward and backward. A folded trace has
// only a few of them. The first and the last are there as they are; the middle
// one stands for itself and all that were left out.
//
// Unfold writes the others. What makes that more than copying is whom an event
// gives back: what its own turn made, what the turn before or after it made, or,
// going back, what the same turn made on the way there. So an allocation is
// known by the pass it was made in, its turn, and its place among those of that
// turn; and a copy of the middle turn gives back what has the same place in the
// turn that is as far away.
//
// None of that is taken for granted. The turns around the middle one have to be
// alike in all of this, in each pass, or nothing is unfolded.

// Fold is how a loop was folded.
type Fold struct {
	Middle uint8 // the turn that stands for others, counted from 1
	Times  int   // how many it stands for, itself among them
}

// reach is how many turns on either side of the middle one have to be like it,
// and how far from its own turn an event may give something back.
const reach = 2

// section is a stretch of events of one turn.
type section struct {
	turn     uint8
	from, to int
	pass     int
	first    uint32 // the first ID that it made, and how many
	made     uint32
}

// pass is sections of turns that follow each other, up or down.
type pass struct {
	step   int // +1 up, -1 down, 0 where there is one section
	around [2*reach + 1]int
	base   uint32 // the first ID that the unfolded middle made
}

// unfolding is a trace being unfolded.
type unfolding struct {
	Fold
	t        *Trace
	sections []section
	passes   []pass
	home     []int32  // the section that made an ID, -1 if none did
	now      []uint32 // the new ID of an old one, the middle's apart
	out      *Trace
	old      []uint32 // the old ID of a new one
}

// Unfold is the trace with every turn of its loops. Old is, for each of its IDs,
// the one that stood for it. It is false where the turns are not alike.
func (t *Trace) Unfold(f Fold) (out *Trace, old []uint32, ok bool) {
	u := &unfolding{Fold: f, t: t}
	u.divide()
	if f.Times <= reach || f.Middle <= reach || !u.join() || !u.alike() {
		return nil, nil, false
	}
	if !u.write() {
		return nil, nil, false
	}
	return u.out, u.old, true
}

// divide finds the sections, and who made which ID.
func (u *unfolding) divide() {
	u.home = make([]int32, u.t.next)
	for i := range u.home {
		u.home[i] = -1
	}
	for i := range u.t.Events {
		e := &u.t.Events[i]
		if e.Turn == 0 {
			continue
		}
		last := len(u.sections) - 1
		if last < 0 || u.sections[last].to != i || u.sections[last].turn != e.Turn {
			u.sections = append(u.sections, section{turn: e.Turn, from: i})
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

// join makes passes of the sections. It is false where a pass has some of the
// turns around the middle one and not all.
func (u *unfolding) join() bool {
	for i := range u.sections {
		s := &u.sections[i]
		if !u.follows(i) {
			u.passes = append(u.passes, pass{around: noSections})
		}
		s.pass = len(u.passes) - 1
		if d := int(s.turn) - int(u.Middle); -reach <= d && d <= reach {
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

// follows tells whether section i goes on with the pass of the one before.
func (u *unfolding) follows(i int) bool {
	if i == 0 || u.sections[i-1].to != u.sections[i].from {
		return false
	}
	p := &u.passes[len(u.passes)-1]
	step := int(u.sections[i].turn) - int(u.sections[i-1].turn)
	if step != p.step && p.step != 0 || step != 1 && step != -1 {
		return false
	}
	p.step = step
	return true
}
