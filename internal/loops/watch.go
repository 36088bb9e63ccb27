// SPDX-License-Identifier: Apache-2.0

package loops

import "math/bits"

// watch observes a loop as it is played and looks for iterations that repeat earlier ones. An iteration is
// identified by its decisions and by the final layouts of the segments it touched. When an iteration recurs, the
// iterations since its last occurrence are worth recording.
type watch struct {
	body    *body // nil outside loops
	sum     uint64
	touched []int32
	stamp   int32

	seen   map[uint64]int // when each iteration was last seen, by hash
	period int            // distance between the last iterations and their previous occurrences
	streak int            // number of consecutive iterations with this period
	cycle  int            // number of iterations still to be recorded
	limit  int            // maximum number of iterations to record at a time

	taken *shortcut // the last shortcut, if nothing has been played since
	again int       // how many times taken was taken in a row

	rec  *recording
	room recording // the last recording, whose memory is reused
}

// few is the number of iterations below which a recording is worth extending; most is the maximum number to record
// at a time.
const (
	few  = 48
	most = 1 << 12
)

func (w *watch) begin(b *body) {
	if w.body, w.sum = b, 0; w.seen == nil {
		w.seen = map[uint64]int{}
	}
	clear(w.seen)
	w.period, w.streak, w.cycle, w.limit = 0, 0, 0, most
	w.taken = nil
}

func (w *watch) end() { w.body, w.rec = nil, nil }

// stop abandons a recording.
func (w *watch) stop(p *Player) {
	if w.rec == nil {
		return
	}
	for _, i := range w.rec.segs {
		p.segs[i].role = 0
	}
	p.gone = append(p.gone, w.rec.dead...)
	w.rec, w.streak, w.cycle = nil, 0, 0
}

// beginIteration begins an iteration.
func (w *watch) beginIteration() {
	w.sum = 0
	w.touched = w.touched[:0]
	w.stamp++
}

// mix adds x to the hash of the iteration.
func (w *watch) mix(x uint64) { w.sum = bits.RotateLeft64((w.sum^x)*0x9e3779b97f4a7c15, 31) + x }

func (w *watch) touch(p *Player, i int32) {
	if s := &p.segs[i]; s.iteration != w.stamp {
		s.iteration = w.stamp
		w.touched = append(w.touched, i)
	}
}

// chosen records the hole chosen for a request.
func (w *watch) chosen(p *Player, r *request, got uint64, at place, grown bool) {
	if w.body == nil {
		return
	}
	w.mix(at.at)
	if !p.segs[at.seg-1].void {
		w.mix(got)
		w.touch(p, at.seg-1)
	}
	if w.rec != nil {
		w.rec.chosen(p, r, got, at, grown)
	}
}

// beside records a piece whose neighbor changes or is examined.
func (w *watch) beside(p *Player, i int32) {
	if w.body == nil || i == none {
		return
	}
	if !p.segs[i].void {
		w.touch(p, i)
	}
	if w.rec != nil {
		w.rec.beside(p, i)
	}
}

// born records a new piece before a void.
func (w *watch) born(p *Player, i, void int32) {
	if w.body == nil {
		return
	}
	w.touch(p, i)
	if w.rec != nil {
		w.rec.born(p, i, void)
	}
}

// removed records that a piece no longer exists. Pieces that a recording refers to are kept until the recording
// ends.
func (w *watch) removed(p *Player, i int32) {
	if w.rec != nil {
		w.rec.dead = append(w.rec.dead, i)
		w.rec.counts(-1)
		return
	}
	p.gone = append(p.gone, i)
}

// breaks records an event that no shortcut can contain.
func (w *watch) breaks() {
	if w.rec != nil {
		w.rec.broken = true
	}
}

// freed records a block that is about to be freed.
func (w *watch) freed(p *Player, at place) {
	if w.body == nil {
		return
	}
	w.mix(at.at)
	w.touch(p, at.seg-1)
	if w.rec != nil {
		w.rec.freed(p, at)
	}
}

// made records the place of an allocation that outlives its iteration.
func (w *watch) made(slot int32, copy int, at place) {
	if w.rec != nil {
		w.rec.made[w.rec.madeAt(owner{slot, copy - w.rec.first})] = at
	}
}

// owned records the owner of a block that is about to be freed.
func (w *watch) owned(slot int32, copy int) {
	if w.rec != nil {
		w.rec.next = owner{slot, copy - w.rec.first}
	}
}

// turned ends an iteration.
func (w *watch) turned(p *Player, done int) {
	for _, i := range w.touched {
		if s := &p.segs[i]; s.set != none {
			w.mix(p.sum(s))
		}
	}
	if c := w.rec; c != nil {
		switch c.left--; {
		case c.broken:
			if c.count > maxRoles {
				w.limit = c.iterations - 1
			}
			w.stop(p)
		case c.bridges && len(w.body.class.shortcuts[w.sum]) > 0:
			c.iterations -= c.left
			w.keep(p, done)
		case c.left == 0:
			w.keep(p, done)
		}
		return
	}
	before, ok := w.seen[w.sum]
	w.seen[w.sum] = done
	switch {
	case !ok:
		w.streak = 0
		return
	case done-before != w.period:
		w.period, w.streak = done-before, 0
	}
	w.streak++
	if w.streak >= min(2, w.period) && w.period <= most {
		w.cycle = w.period
		w.recordNext(p, done+1)
	}
}

// recordNext records the next iterations of a cycle, a few at a time, because a shortcut can only be entered at
// its start.
func (w *watch) recordNext(p *Player, done int) {
	pieces := (w.cycle + few - 1) / few
	if pieces == 0 {
		return
	}
	iterations := (w.cycle + pieces - 1) / pieces
	if iterations > w.limit || !w.body.inside(done, iterations) {
		w.cycle = 0
		return
	}
	w.cycle -= iterations
	w.record(p, w.body, done, iterations)
}

// keep ends a recording and adds its shortcut, if there is one. The streak starts again, because earlier
// observations are out of date.
func (w *watch) keep(p *Player, done int) {
	if s := w.rec.finish(p); s != nil {
		w.body.class.add(s)
	}
	w.rec = nil
	w.streak = 0
	w.recordNext(p, done+1)
}

// jumped records that iterations were skipped.
func (w *watch) jumped(s *shortcut) {
	w.sum = s.end
	if len(w.seen) > 0 {
		clear(w.seen)
	}
	w.streak = 0
}
