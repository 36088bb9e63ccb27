// SPDX-License-Identifier: Apache-2.0

package allocator

// undo is how addresses were before each of some placements, so that who only
// wants to know where segments would go can take them back.
type undo struct {
	on    bool
	was   driverState
	steps []undoStep
	holes []span // of all steps, one after the other
}

// driverState is what a driver knows beside addresses.
type driverState struct {
	used, next, nextRange uint64
	takes, handles        int
	launched              bool
}

// undoStep is a chunk as it was, or how the list of chunks was.
type undoStep struct {
	chunk  int // -1: a chunk was added
	holes  int // how many of them, of the chunk or of the gaps
	room   uint64
	floor  uint64
	chunks int
}

// Mark makes the takes that follow such as Rewind can take back. It holds until
// the next Mark, and nothing may be given back in between.
func (d *Driver) Mark() {
	u := &d.undo
	u.on, u.steps, u.holes = true, u.steps[:0], u.holes[:0]
	u.was = driverState{d.used, d.next, d.nextRange, d.takes, d.handles, d.launched}
}

// Rewind takes back all since the last Mark.
func (d *Driver) Rewind() {
	u := &d.undo
	for n := len(u.steps) - 1; n >= 0; n-- {
		s := &u.steps[n]
		holes := u.holes[len(u.holes)-s.holes:]
		u.holes = u.holes[:len(u.holes)-s.holes]
		if s.chunk < 0 {
			d.chunks, d.floor = d.chunks[:s.chunks], s.floor
			d.remeasure(s.chunks)
			d.gaps = append(d.gaps[:0], holes...)
			continue
		}
		c := &d.chunks[s.chunk]
		c.holes, c.room = append(c.holes[:0], holes...), s.room
		d.remeasure(s.chunk)
	}
	w := u.was
	d.used, d.next, d.nextRange, d.takes, d.handles, d.launched = w.used, w.next, w.nextRange, w.takes, w.handles, w.launched
	u.on = false
}

// changes notes how chunk i is before it changes.
func (a *addresses) changes(i int) {
	if u := &a.undo; u.on {
		c := &a.chunks[i]
		u.steps = append(u.steps, undoStep{chunk: i, holes: len(c.holes), room: c.room})
		u.holes = append(u.holes, c.holes...)
	}
}

// grows notes how the list of chunks is before one is added.
func (a *addresses) grows() {
	if u := &a.undo; u.on {
		u.steps = append(u.steps, undoStep{chunk: -1, holes: len(a.gaps), floor: a.floor, chunks: len(a.chunks)})
		u.holes = append(u.holes, a.gaps...)
	}
}
