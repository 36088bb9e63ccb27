// SPDX-License-Identifier: Apache-2.0

package stream

// alike tells whether in every pass the turns around the middle one do what it
// does.
func (u *unfolding) alike() bool {
	for i := range u.passes {
		p := &u.passes[i]
		if p.around[reach] < 0 {
			continue
		}
		middle := &u.sections[p.around[reach]]
		for _, at := range p.around {
			if !u.same(&u.sections[at], middle) {
				return false
			}
		}
	}
	return true
}

// same compares two sections, each seen from its own turn.
func (u *unfolding) same(a, b *section) bool {
	if a.to-a.from != b.to-b.from || a.made != b.made {
		return false
	}
	for i := range a.to - a.from {
		x, y := u.t.Events[a.from+i], u.t.Events[b.from+i]
		if x.Kind != y.Kind || x.Size != y.Size || x.Queue != y.Queue {
			return false
		}
		if x.Kind != Alloc && (x.Kind != Free || !u.sameTarget(a, x.ID, b, y.ID)) {
			return false
		}
	}
	return true
}

// sameTarget tells whether two sections give back what has the same place, in a
// turn that is as far away and near.
func (u *unfolding) sameTarget(a *section, x uint32, b *section, y uint32) bool {
	if u.home[x] < 0 || u.home[y] < 0 {
		return false
	}
	s, t := &u.sections[u.home[x]], &u.sections[u.home[y]]
	far := int(s.turn) - int(a.turn)
	return s.pass == t.pass && x-s.first == y-t.first && far == int(t.turn)-int(b.turn) &&
		-reach <= far && far <= reach && u.passes[s.pass].around[reach] >= 0
}

// write makes the new trace.
func (u *unfolding) write() bool {
	u.out = &Trace{Queues: u.t.Queues, Initial: u.t.Initial, next: u.t.Initial}
	events, made := len(u.t.Events), int(u.t.next)
	for i := range u.passes {
		if at := u.passes[i].around[reach]; at >= 0 {
			s := &u.sections[at]
			events += (u.Times - 1) * (s.to - s.from)
			made += (u.Times - 1) * int(s.made)
		}
	}
	u.out.Events = make([]Event, 0, events)
	u.old = make([]uint32, 0, made)
	u.now = make([]uint32, u.t.next)
	for id := range u.t.Initial {
		u.now[id] = id
		u.old = append(u.old, id)
	}
	places := make([]int, 0, len(u.t.Events)+1) // where each event went
	next := 0
	for i := 0; i < len(u.t.Events); {
		if next == len(u.sections) || i < u.sections[next].from {
			places = append(places, len(u.out.Events))
			if !u.event(&u.t.Events[i]) {
				return false
			}
			i++
			continue
		}
		s := &u.sections[next]
		for range s.to - s.from {
			places = append(places, len(u.out.Events)+len(places)-s.from)
		}
		if !u.section(s) {
			return false
		}
		i = s.to
		next++
	}
	return u.copies(append(places, len(u.out.Events)))
}

// event writes one that belongs to no turn.
func (u *unfolding) event(e *Event) bool {
	switch e.Kind {
	case Alloc:
		u.now[e.ID] = u.alloc(e)
		return true
	case Mark, EmptyCache:
		u.out.Events = append(u.out.Events, *e)
		return true
	}
	if h := u.home[e.ID]; h >= 0 && u.near(u.sections[h].turn) {
		return false
	}
	u.out.Add(e.Kind, u.now[e.ID], e.Queue)
	return true
}

// near tells whether a turn is the middle one or around it.
func (u *unfolding) near(turn uint8) bool {
	return turn+reach >= u.Middle && turn <= u.Middle+reach
}

// section writes one turn, or all that the middle one stands for.
func (u *unfolding) section(s *section) bool {
	if s.turn != u.Middle {
		turn := int(s.turn)
		if s.turn > u.Middle {
			turn += u.Times - 1
		}
		return u.turn(s, turn)
	}
	p := &u.passes[s.pass]
	p.base = u.out.next
	for k := range u.Times {
		if p.step < 0 {
			k = u.Times - 1 - k
		}
		u.turn(s, int(u.Middle)+k)
	}
	return true
}

// turn writes a section as the given turn of the unfolded loop.
func (u *unfolding) turn(s *section, turn int) bool {
	for i := s.from; i < s.to; i++ {
		e := &u.t.Events[i]
		switch {
		case e.Kind == Alloc:
			u.now[e.ID] = u.alloc(e)
		case e.Kind == Free && u.near(s.turn):
			u.out.Free(u.target(s, e.ID, turn))
		default:
			if h := u.home[e.ID]; h >= 0 && u.crosses(s.turn, u.sections[h].turn) {
				return false
			}
			u.out.Add(e.Kind, u.now[e.ID], e.Queue)
		}
	}
	return true
}

// crosses tells whether the middle turn is, or lies between, either of two.
func (u *unfolding) crosses(a, b uint8) bool {
	return min(a, b) <= u.Middle && u.Middle <= max(a, b)
}

// target is the new ID of what a section near the middle gives back, as the
// given turn.
func (u *unfolding) target(s *section, id uint32, turn int) uint32 {
	h := &u.sections[u.home[id]]
	if !u.crosses(s.turn, h.turn) {
		return u.now[id]
	}
	turn += int(h.turn) - int(s.turn)
	p := &u.passes[h.pass]
	switch k := turn - int(u.Middle); {
	case k < 0:
		return u.now[u.sections[p.around[reach+k]].first+id-h.first]
	case k >= u.Times:
		return u.now[u.sections[p.around[reach+k-u.Times+1]].first+id-h.first]
	case p.step < 0:
		return p.base + uint32(u.Times-1-k)*h.made + id - h.first
	default:
		return p.base + uint32(k)*h.made + id - h.first
	}
}

func (u *unfolding) alloc(e *Event) uint32 {
	u.old = append(u.old, e.ID)
	return u.out.Alloc(e.Size, e.Queue)
}

// copies says where the stretches that come again are now.
func (u *unfolding) copies(places []int) bool {
	for _, c := range u.t.Copies {
		from, to := places[c.From], places[c.From+c.N]
		if places[c.From+2*c.N]-to != to-from {
			return false
		}
		u.out.Copies = append(u.out.Copies, Copy{From: from, N: to - from})
	}
	return true
}
