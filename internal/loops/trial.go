// SPDX-License-Identifier: Apache-2.0

package loops

import "slices"

// trial is a shortcut being tried. Segments that match a role are set apart, so that only the holes of other
// segments are considered.
type trial struct {
	segs          []int32 // segments by role; none for a new segment
	addrs         []uint64
	addressGuards []addressGuard
}

// addressGuard is a guard that depends on addresses, because a segment without a role has a hole of the same size.
type addressGuard struct {
	guard *guard
	other int32
}

// try takes a shortcut if it holds, and reports whether it did.
func (p *Player) try(s *shortcut, b *body, done int) bool {
	t, first := &p.trial, b.loop.Copy(done)
	t.segs, t.addrs, t.addressGuards = t.segs[:0], t.addrs[:0], t.addressGuards[:0]
	if p.cast(s, b, first) && p.linked(s) && p.inPlace(s, b, first) && p.guarded(s) && p.placed(s) {
		p.work += len(s.roles)
		p.commit(s, b, done)
		return true
	}
	p.work += 1 + len(t.segs)
	p.takeBack()
	return false
}

// promising is a cheap first check: whether the segments in which blocks are freed have the recorded
// layouts.
func (p *Player) promising(s *shortcut, b *body, done int) bool {
	first := b.loop.Copy(done)
	for k := range s.roles {
		r := &s.roles[k]
		if r.how != locate {
			continue
		}
		i, at := p.candidate(r, b, first)
		if i == none || at != r.at || p.sum(&p.segs[i]) != p.shared[r.before].sum {
			return false
		}
	}
	return true
}

// cast finds a segment for each role.
func (p *Player) cast(s *shortcut, b *body, first int) bool {
	ties := s.ties
	for k := range s.roles {
		r := &s.roles[k]
		if r.how == grow || r.how == born {
			p.trial.segs = append(p.trial.segs, none)
			continue
		}
		i, at := p.candidate(r, b, first)
		if i == none || at != r.at {
			return false
		}
		if g := &p.segs[i]; g.apart || g.void != r.void || !p.setApart(i, r) {
			return false
		}
		p.trial.segs = append(p.trial.segs, i)
		for ; len(ties) > 0 && int(ties[0].last()) <= k; ties = ties[1:] {
			if !p.isOrdered(ties[0]) {
				return false
			}
		}
	}
	return true
}

// isOrdered reports whether two segments are in the recorded order. It is true if either does not exist yet.
func (p *Player) isOrdered(t tie) bool {
	low, high := p.trial.segs[t.low], p.trial.segs[t.high]
	return low == none || high == none || p.segs[low].addr < p.segs[high].addr
}

// setApart reserves a segment that matches a role.
func (p *Player) setApart(i int32, r *role) bool {
	g := &p.segs[i]
	if r.void {
		size := p.voidSize(i)
		if int64(size) < r.low || int64(size) > r.high {
			return false
		}
		p.sets[g.set].drop(size)
	} else {
		if p.settle(g) != r.before {
			return false
		}
		p.leave(g)
	}
	g.apart = true
	return true
}

// candidate returns the only segment that can match a role, and the block in it.
func (p *Player) candidate(r *role, b *body, first int) (seg int32, at uint64) {
	switch r.how {
	case locate:
		copy := first + r.owner.copy
		run := p.many[b.owned[r.owner.slot]].find(copy)
		if run == nil {
			return none, 0
		}
		return run.seg - 1, run.place(copy).at
	case beside:
		g := &p.segs[p.trial.segs[r.of]]
		if r.side < 0 {
			return g.prev, r.at
		}
		return g.next, r.at
	}
	got, x, ok := p.seek(r.set, r.size)
	if !ok || got != r.got && !r.void {
		return none, 0
	}
	return x.seg, x.addr - p.segs[x.seg].addr
}

// takeBack undoes a failed trial.
func (p *Player) takeBack() {
	for _, i := range p.trial.segs {
		if i == none {
			continue
		}
		g := &p.segs[i]
		g.apart = false
		if g.void {
			p.sets[g.set].add(p.voidSize(i), hole{g.addr, i})
		} else {
			p.enter(g, g.layout)
		}
	}
}

// linked reports whether pieces have the recorded neighbors.
func (p *Player) linked(s *shortcut) bool {
	t := &p.trial
	for k := range s.roles {
		if i := t.segs[k]; i != none {
			r, g := &s.roles[k], &p.segs[i]
			if !t.meets(g.prev, r.left) || !t.meets(g.next, r.right) {
				return false
			}
		}
	}
	return true
}

// meets reports whether a neighbor is the segment recorded for a role.
func (t *trial) meets(seg, role int32) bool {
	switch role {
	case none:
		return seg == none
	case roleless:
		return seg != none
	}
	return seg == t.segs[role]
}

// inPlace reports whether the allocations that the iterations free are at the recorded places.
func (p *Player) inPlace(s *shortcut, b *body, first int) bool {
	for k := range s.frees {
		f := &s.frees[k]
		seg, o := p.trial.segs[f.role]+1, p.many[b.owned[f.slot]]
		for copy, end := int(f.from), f.end(); copy < end; {
			is := o.find(first + copy)
			if is == nil || is.place(first+copy) != (place{seg, f.place(copy).at}) {
				return false
			}
			n := 1
			if is.step == f.step {
				n = min(is.end()-first, end) - copy
			}
			copy += n
		}
	}
	return true
}

// guarded reports whether no other segment has a better hole. Ties are decided by address.
func (p *Player) guarded(s *shortcut) bool {
	for _, x := range s.deeper {
		if int64(p.voidSize(p.trial.segs[x.role]))-int64(p.voidSize(p.trial.segs[x.than])) < x.by {
			return false
		}
	}
	for k := range s.guards {
		g := &s.guards[k]
		got, x, ok := p.seek(g.set, g.size)
		if !ok {
			continue
		}
		for _, v := range g.voids {
			if !p.isBetter(v, got, x) {
				return false
			}
		}
		switch {
		case got < g.got:
			return false
		case got == g.got:
			p.trial.addressGuards = append(p.trial.addressGuards, addressGuard{g, x.seg})
		}
	}
	return true
}

// isBetter reports whether a void is a better choice than another hole.
func (p *Player) isBetter(v deep, size uint64, other hole) bool {
	i := p.trial.segs[v.role]
	more := int64(size) - int64(p.voidSize(i)) - v.wider
	return more > 0 || more == 0 && v.wider == 0 && p.segs[i].addr < other.addr
}

// placed allocates new segments from the device, if there is room for them, and reports whether all segments are
// in the recorded order. If not, it returns them to the device.
func (p *Player) placed(s *shortcut) bool {
	if !p.room(s.grows) {
		return false
	}
	if s.grows == 0 {
		return p.addressed(s) && p.inOrder(s)
	}
	p.dev.Mark()
	if p.addressed(s) && p.inOrder(s) {
		p.dev.Keep()
		return true
	}
	p.dev.Rewind()
	return false
}

// addressed finds the address of each role's segment. It reports false if the card is full or another piece is
// too close to a new one.
func (p *Player) addressed(s *shortcut) bool {
	for k := range s.roles {
		var addr uint64
		switch r := &s.roles[k]; r.how {
		case grow:
			at, ok := p.dev.Take(r.size * quantum)
			if !ok {
				return false
			}
			addr = at / quantum
		case born:
			addr = p.trial.addrs[r.of] + r.at
			if r.after != none && !p.isLone(addr) {
				return false
			}
		default:
			addr = p.segs[p.trial.segs[k]].addr
		}
		p.trial.addrs = append(p.trial.addrs, addr)
	}
	return true
}

// isLone reports whether no piece, including new ones, occupies the slot of an address.
func (p *Player) isLone(addr uint64) bool {
	if p.slots[p.slot(addr)] != none {
		return false
	}
	for k, i := range p.trial.segs[:len(p.trial.addrs)] {
		if i == none && p.slot(p.trial.addrs[k]) == p.slot(addr) {
			return false
		}
	}
	return true
}

// room reports whether the limit allows this many more quanta.
func (p *Player) room(quanta uint64) bool {
	return p.limit == 0 || quanta == 0 || (p.held+quanta)*quantum <= p.limit
}

func (p *Player) inOrder(s *shortcut) bool {
	addrs := p.trial.addrs
	for _, t := range s.ties {
		if addrs[t.low] > addrs[t.high] {
			return false
		}
	}
	for _, e := range p.trial.addressGuards {
		if slices.ContainsFunc(e.guard.roles, func(r int32) bool { return addrs[r] > p.segs[e.other].addr }) {
			return false
		}
	}
	return true
}

// commit applies the changes of the iterations.
func (p *Player) commit(s *shortcut, b *body, done int) {
	t := &p.trial
	for k := range s.roles {
		switch r := &s.roles[k]; r.how {
		case grow:
			t.segs[k] = p.addSegment(t.addrs[k], r.set, r.size)
		case born:
			if r.after != none { // if none, the segment no longer exists at the end
				t.segs[k] = p.newSegment(t.addrs[k], r.set)
				p.slots[p.slot(t.addrs[k])] = t.segs[k]
			}
		}
	}
	for k := range s.roles {
		if t.segs[k] != none {
			p.leaveRole(t.segs[k], &s.roles[k])
		}
	}
	first := b.loop.Copy(done)
	for k := range s.leaves {
		l := &s.leaves[k]
		o, r := p.many[b.owned[l.slot]], l.run
		r.from, r.seg = r.from+int32(first), t.segs[l.role]+1
		o.runs = append(doubled(o.runs), r)
	}
	p.passed(s, b.loop.At+done*len(b.steps))
}

// leaveRole gives a segment the layout that its role has at the end.
func (p *Player) leaveRole(i int32, r *role) {
	g := &p.segs[i]
	g.apart = false
	switch {
	case r.void:
		size := uint64(int64(p.voidSize(i)) + r.widens)
		g.addr += uint64(r.moves)
		p.owns[g.own].marks[1] = usedMark(size)
		p.sets[g.set].add(size, hole{g.addr, i})
	case r.after == none:
		p.slots[p.slot(g.addr)] = none
		g.set, g.layout = none, none
		p.gone = append(p.gone, i)
		return
	default:
		p.enter(g, r.after)
	}
	if r.prev != roleless {
		g.prev = p.trial.neighbor(r.prev)
	}
	if r.next != roleless {
		g.next = p.trial.neighbor(r.next)
	}
}

// neighbor returns the segment of a neighboring role.
func (t *trial) neighbor(role int32) int32 {
	if role == none {
		return none
	}
	return t.segs[role]
}
