// SPDX-License-Identifier: Apache-2.0

package stream

// unfolding is a trace being unfolded.
type unfolding struct {
	*Folded
	now  []uint32 // maps old IDs to new ones, except IDs of the middle iteration
	base []uint32 // for each pass, the first ID allocated by its unfolded middle iterations
	out  *Trace
	old  []uint32 // maps new IDs to old ones
}

// Unfold returns the trace with every iteration of its loops. old maps each ID in out to the ID that represented it.
func (f *Folded) Unfold() (out *Trace, old []uint32) {
	t := f.Trace
	u := &unfolding{
		Folded: f, now: make([]uint32, t.next), base: make([]uint32, len(f.passes)),
		out: &Trace{Queues: t.Queues, Initial: t.Initial, next: t.Initial},
	}
	made := int(t.next)
	for _, at := range f.middles {
		made += (f.Times - 1) * int(f.sections[at].made)
	}
	u.out.Events = make([]Event, 0, f.Len())
	u.old = make([]uint32, 0, made)
	for id := range t.Initial {
		u.now[id] = id
		u.old = append(u.old, id)
	}
	u.write()
	for _, c := range t.Copies {
		from := f.At(c.From)
		u.out.Copies = append(u.out.Copies, Copy{From: from, N: f.At(c.From+c.N) - from})
	}
	return u.out, u.old
}

// write writes the new events.
func (u *unfolding) write() {
	next := 0
	for i := 0; i < len(u.Trace.Events); {
		if next == len(u.sections) || i < u.sections[next].from {
			u.event(&u.Trace.Events[i])
			i++
			continue
		}
		s := &u.sections[next]
		u.section(s)
		i = s.to
		next++
	}
}

// event writes an event outside loops.
func (u *unfolding) event(e *Event) {
	switch e.Kind {
	case Alloc:
		u.now[e.ID] = u.alloc(e)
	case Mark, EmptyCache:
		u.out.Events = append(u.out.Events, *e)
	default:
		u.out.Add(e.Kind, u.now[e.ID], e.Queue)
	}
}

// section writes one iteration, or for the middle one all iterations that it represents.
func (u *unfolding) section(s *section) {
	if s.iteration != u.Middle {
		u.writeSection(s, 0)
		return
	}
	u.base[s.pass] = u.out.next
	for k := range u.Times {
		if u.passes[s.pass].step < 0 {
			k = u.Times - 1 - k
		}
		u.writeSection(s, k)
	}
}

// writeSection writes a section once. For the middle section, copy is the index of the iteration to write.
func (u *unfolding) writeSection(s *section, copy int) {
	for i := s.from; i < s.to; i++ {
		e := &u.Trace.Events[i]
		if e.Kind == Alloc {
			u.now[e.ID] = u.alloc(e)
			continue
		}
		id := u.now[e.ID]
		if e.Kind == Free && u.near(s.iteration) {
			id = u.target(s, e.ID, copy)
		}
		u.out.Add(e.Kind, id, e.Queue)
	}
}

// target returns the new ID of the allocation that a section near the middle frees.
func (u *unfolding) target(s *section, id uint32, copy int) uint32 {
	id, k := u.freed(s, id, copy)
	if k < 0 {
		return u.now[id]
	}
	h := &u.sections[u.home[id]]
	if u.passes[h.pass].step < 0 {
		k = u.Times - 1 - k
	}
	return u.base[h.pass] + uint32(k)*h.made + id - h.first
}

func (u *unfolding) alloc(e *Event) uint32 {
	u.old = append(u.old, e.ID)
	return u.out.Alloc(e.Size, e.Queue)
}
