// SPDX-License-Identifier: Apache-2.0

package allocator

// undo records the addresses before each placement since Mark, so that trial placements can be reverted.
type undo struct {
	on    bool
	was   driverState
	steps []undoStep
	spans []span // spans of all steps, one after the other
}

// driverState is a driver's state except for its addresses.
type driverState struct {
	used, next, nextRange uint64
	takes, handles        int
	launched              bool
}

// undoStep is the previous state of a chunk, or of the addresses before a chunk was added.
type undoStep struct {
	chunk  int32
	added  bool
	spans  int    // number of saved spans: the holes of a chunk, or the gaps
	floor  uint64 // the floor before a chunk was added
	placed uint64 // the address that was returned, if any
}

// Mark starts a sequence of Take calls that Rewind can undo. It ends with Rewind or Keep; nothing may be freed in
// between.
func (d *Driver) Mark() {
	u := &d.undo
	u.on, u.steps, u.spans = true, u.steps[:0], u.spans[:0]
	u.was = driverState{d.used, d.next, d.nextRange, d.takes, d.handles, d.launched}
}

// Rewind undoes all placements since the last Mark.
func (d *Driver) Rewind() {
	u := &d.undo
	for n := len(u.steps) - 1; n >= 0; n-- {
		d.takeBack(&u.steps[n])
	}
	w := u.was
	d.used, d.next, d.nextRange, d.takes, d.handles, d.launched = w.used, w.next, w.nextRange, w.takes, w.handles, w.launched
	u.on = false
}

// Keep keeps the placements made since the last Mark.
func (d *Driver) Keep() { d.undo.on = false }

// takeBack undoes the last step.
func (a *addresses) takeBack(s *undoStep) {
	rest := len(a.undo.spans) - s.spans
	spans := a.undo.spans[rest:]
	a.undo.spans = a.undo.spans[:rest]
	delete(a.owner, s.placed)
	c := &a.chunks[s.chunk]
	if s.added {
		*c = chunk{}
		a.setRoom(s.chunk)
		a.chunks, a.floor, a.gaps = a.chunks[:s.chunk], s.floor, append(a.gaps[:0], spans...)
		return
	}
	c.holes = append(c.holes[:0], spans...)
	c.measure()
	a.setRoom(s.chunk)
}

// changes saves the state of a chunk before it changes.
func (a *addresses) changes(i int32) {
	if u := &a.undo; u.on {
		holes := a.chunks[i].holes
		u.steps = append(u.steps, undoStep{chunk: i, spans: len(holes)})
		u.spans = append(u.spans, holes...)
	}
}

// grows saves the state of the addresses before a chunk is added.
func (a *addresses) grows() {
	if u := &a.undo; u.on {
		u.steps = append(u.steps, undoStep{chunk: int32(len(a.chunks)), added: true, spans: len(a.gaps), floor: a.floor})
		u.spans = append(u.spans, a.gaps...)
	}
}

// placed records the address that the last step returned.
func (a *addresses) placed(addr uint64) {
	if u := &a.undo; u.on {
		u.steps[len(u.steps)-1].placed = addr
	}
}
