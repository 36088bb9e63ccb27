// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"encoding/binary"

	"snug/internal/stream"
)

// body describes one iteration of a loop.
type body struct {
	loop  *stream.Loop
	steps []step
	owned []uint32 // IDs of allocations that steps refer to and that are not local to the iteration
	class *class
}

// step is one event of an iteration.
type step struct {
	kind  stepKind
	bytes uint64 // requested bytes
	queue uint16
	what  int32 // index among the iteration's allocations, or in body.owned
	far   int   // iteration that allocated the freed block, relative to this one
}

type stepKind uint8

const (
	takeLocal stepKind = iota // an allocation that its own iteration frees
	takeOwned                 // an allocation that lives longer
	freeLocal
	freeOwned
)

// class is a set of equal loops, in different layers or steps, with their shortcuts.
type class struct {
	shortcuts map[uint64][]*shortcut // by the hash of the previous iteration
	deadEnds  map[uint64]int         // hashes at which a shortcut ended and none starts
}

// lead is the number of iterations at either end of a loop that may free allocations made outside it. All other
// iterations free only what the loop allocated.
const lead = 2

// bodyOf returns the body of a loop.
func (p *Player) bodyOf(l *stream.Loop) *body {
	b := &body{loop: l}
	events, slots := p.stream.Trace.Events, map[uint32]int32{}
	first, local := firstMade(events[l.From:l.To]), p.locals(l)
	for i := l.From; i < l.To; i++ {
		e := &events[i]
		s := step{bytes: e.Size, queue: e.Queue}
		id, far := e.ID, 0
		if e.Kind == stream.Free {
			var copy int
			id, copy = p.stream.Freed(i, lead)
			s.kind, s.bytes, far = freeLocal, p.asked[id], copy-lead
		}
		if far == 0 && local[id] {
			s.what = int32(id - first)
		} else {
			s.kind++
			s.what, s.far = b.slot(slots, id), far
		}
		b.steps = append(b.steps, s)
	}
	b.class = p.classOf(b)
	return b
}

// slot returns the index of an allocation in b.owned, adding it if necessary.
func (b *body) slot(slots map[uint32]int32, id uint32) int32 {
	n, ok := slots[id]
	if !ok {
		n = int32(len(b.owned))
		slots[id] = n
		b.owned = append(b.owned, id)
	}
	return n
}

func firstMade(events []stream.Event) uint32 {
	for i := range events {
		if events[i].Kind == stream.Alloc {
			return events[i].ID
		}
	}
	return 0
}

// locals returns the allocations of an iteration that the same iteration frees.
func (p *Player) locals(l *stream.Loop) map[uint32]bool {
	made, out := map[uint32]bool{}, map[uint32]bool{}
	for i := l.From; i < l.To; i++ {
		if e := &p.stream.Trace.Events[i]; e.Kind == stream.Alloc {
			made[e.ID] = true
		} else if id, copy := p.stream.Freed(i, lead); copy == lead && made[id] {
			out[id] = true
		}
	}
	return out
}

// classOf returns the class of a body. Bodies with the same steps have the same class.
func (p *Player) classOf(b *body) *class {
	key := []byte{0}
	if b.loop.Down {
		key[0] = 1
	}
	for _, s := range b.steps {
		key = append(key, byte(s.kind))
		key = binary.AppendUvarint(key, s.bytes)
		key = binary.AppendUvarint(key, uint64(s.queue))
		key = binary.AppendUvarint(key, uint64(s.what))
		key = binary.AppendVarint(key, int64(s.far))
	}
	c := p.bodies[string(key)]
	if c == nil {
		c = &class{shortcuts: map[uint64][]*shortcut{}, deadEnds: map[uint64]int{}}
		p.bodies[string(key)] = c
	}
	return c
}

// loop plays a loop.
func (p *Player) loop(l *stream.Loop) error {
	if l.Times <= 4*lead {
		return p.short(l)
	}
	b := p.bodyOf(l)
	p.recycle(b)
	p.watch.begin(b)
	defer p.watch.end()
	for done := 0; done < l.Times; {
		if err := p.beyond(); err != nil {
			return err
		}
		if n := p.jump(b, done); n > 0 {
			done += n
			continue
		}
		if err := p.playIteration(b, done); err != nil {
			return err
		}
		done++
	}
	p.forget(b)
	return nil
}

// short plays a loop of few iterations.
func (p *Player) short(l *stream.Loop) error {
	p.at = l.At - 1
	for k := range l.Times {
		for i := l.From; i < l.To; i++ {
			p.at++
			if err := p.event(i, l.Copy(k)); err != nil {
				return err
			}
			p.note()
		}
	}
	return nil
}

// inside reports whether the next iterations are far enough from the ends of the loop to free only blocks that
// loops allocated.
func (b *body) inside(done, iterations int) bool {
	return done >= lead && done+iterations <= b.loop.Times-lead
}

// playIteration plays one iteration.
func (p *Player) playIteration(b *body, done int) error {
	copy := b.loop.Copy(done)
	at := b.loop.At + done*len(b.steps)
	p.watch.beginIteration()
	for i := range b.steps {
		p.at = at + i
		if err := p.step(b, i, copy); err != nil {
			return err
		}
		p.note()
	}
	p.watch.turned(p, done)
	return nil
}

// step plays one event of an iteration.
func (p *Player) step(b *body, i, copy int) error {
	s := &b.steps[i]
	switch s.kind {
	case takeLocal, takeOwned:
		at, err := p.alloc(s.bytes, s.queue)
		if err != nil {
			return err
		}
		if s.kind == takeOwned {
			p.many[b.owned[s.what]].add(copy, at)
			p.watch.made(s.what, copy, at)
			return nil
		}
		for int(s.what) >= len(p.local) {
			p.local = append(p.local, place{})
		}
		p.local[s.what] = at
	case freeLocal:
		p.free(p.local[s.what], s.bytes)
	case freeOwned:
		at, err := p.owned(b, i, copy)
		if err != nil {
			return err
		}
		p.free(at, s.bytes)
	}
	return nil
}

// owned returns the place of the allocation that a step frees.
func (p *Player) owned(b *body, i, copy int) (place, error) {
	s := &b.steps[i]
	if of := copy + s.far; of >= 0 && of < b.loop.Times {
		p.watch.owned(s.what, of)
		return p.copyAt(b.owned[s.what], of)
	}
	id, _ := p.stream.Freed(b.loop.From+i, copy)
	return p.single[id], nil
}

// forget drops the records of allocations that this loop has freed. It keeps those of the outermost iterations if
// another iteration frees them.
func (p *Player) forget(b *body) {
	for _, s := range b.steps {
		if s.kind != freeOwned {
			continue
		}
		o := p.many[b.owned[s.what]]
		var kept []run
		if s.far != 0 {
			kept = o.outermost(b.loop.Times)
		}
		p.idleRuns = append(p.idleRuns, o.runs[:0])
		o.runs, o.last = kept, 0
	}
}

// recycle reuses the memory of forgotten records for the allocations of a loop.
func (p *Player) recycle(b *body) {
	for _, s := range b.steps {
		if n := len(p.idleRuns); s.kind == takeOwned && n > 0 {
			p.many[b.owned[s.what]].runs = p.idleRuns[n-1]
			p.idleRuns = p.idleRuns[:n-1]
		}
	}
}
