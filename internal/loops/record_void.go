// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"math"
	"slices"
)

// Only the size of a void matters, and only in comparison with the other holes considered for a request. So a
// recording keeps the range of sizes that the void may have at the start.

// beside records a piece that was examined or changed together with its neighbor.
func (c *recording) beside(p *Player, i int32) {
	if p.segs[i].role > 0 {
		return
	}
	for k, w := range c.was {
		switch i {
		case w.prev:
			c.join(p, i, role{how: beside, of: int32(k), side: -1})
			return
		case w.next:
			c.join(p, i, role{how: beside, of: int32(k), side: 1})
			return
		}
	}
	c.broken = true
}

// born records a new piece before a void.
func (c *recording) born(p *Player, i, void int32) {
	of := p.segs[void].role - 1
	s := &p.segs[i]
	c.roles = append(c.roles, role{how: born, set: s.set, before: none, of: of, at: s.addr - c.was[of].addr})
	c.segs, c.was = append(c.segs, i), append(c.was, piece{addr: s.addr, prev: none, next: none})
	s.role = int32(len(c.roles))
	c.broken = c.broken || s.alone
	c.counts(1)
}

// wider returns how much a void has grown.
func (c *recording) wider(p *Player, role int32) int64 {
	return int64(p.voidSize(c.segs[role])) - c.was[role].size
}

// admits records that no earlier request would have chosen a void that the recording has just reached.
func (c *recording) admits(r *role, k int32, size int64) {
	for _, g := range c.guards {
		switch {
		case g.set != r.set:
		case size >= int64(g.size) && g.got == math.MaxUint64:
			c.broken = true
		case size >= int64(g.size):
			r.low = max(r.low, int64(g.got)+1)
			c.broken = c.broken || size < r.low
			for _, v := range g.voids {
				c.isDeeper(k, size, v.role, c.was[v.role].size+v.wider, v.wider+1)
			}
		default:
			r.high = min(r.high, int64(g.size)-1)
		}
	}
}

// voids records the bounds that a choice implies for the size of each void.
func (c *recording) voids(p *Player, r *request, got uint64, chosen int32, grown bool) {
	for k := range c.roles {
		x := &c.roles[k]
		if !x.void || x.set != r.set || p.segs[c.segs[k]].set == none {
			continue
		}
		d := c.wider(p, int32(k))
		switch now := c.was[k].size + d; {
		case int32(k) == chosen:
			c.recordChoice(p, r, int32(k), d)
		case now < int64(r.size):
			x.high = min(x.high, int64(r.size)-d-1)
		case c.roles[chosen].void:
			c.isDeeper(int32(k), now, chosen, int64(got), c.wider(p, chosen)-d+1)
		case grown || now <= int64(got):
			c.broken = true
		default:
			x.low = max(x.low, int64(got)-d+1)
		}
	}
}

// isDeeper records that a void was larger than the chosen one, and by how much it must be larger at the start.
func (c *recording) isDeeper(k int32, size int64, chosen int32, got, by int64) {
	c.broken = c.broken || size <= got
	for i := range c.deeper {
		if x := &c.deeper[i]; x.role == k && x.than == chosen {
			x.by = max(x.by, by)
			return
		}
	}
	c.deeper = append(c.deeper, deeper{chosen, k, by})
}

// recordChoice records the choice of a void: it is large enough to be split, and smaller than all other suitable holes.
func (c *recording) recordChoice(p *Player, r *request, k int32, d int64) {
	x := &c.roles[k]
	x.low = max(x.low, int64(r.size)+smallMost+1-d)
	for j, i := range c.segs {
		if s := &p.segs[i]; int32(j) != k && s.set == r.set && !s.void {
			c.smaller(x, holesOf(p.marks(s)), r.size, d)
		}
	}
	c.voidChoices = append(c.voidChoices, voidChoice{deep{k, d}, int32(len(c.roles)), r.size})
	c.guardVoid(r, deep{k, d})
}

// smaller records that a void is smaller than the holes that are large enough.
func (c *recording) smaller(x *role, holes []extent, size uint64, d int64) {
	for _, h := range holes {
		if h.size >= size {
			x.high = min(x.high, int64(h.size)-d-1)
		}
	}
}

// guardVoid records that no segment without a role may have a better hole.
func (c *recording) guardVoid(r *request, v deep) {
	k := slices.IndexFunc(c.guards, func(g guard) bool { return g.set == r.set && g.size == r.size })
	if k < 0 {
		k = len(c.guards)
		c.guards = append(c.guards, guard{set: r.set, size: r.size})
	}
	g := &c.guards[k]
	if i := slices.IndexFunc(g.voids, func(x deep) bool { return x.role == v.role }); i >= 0 {
		g.voids[i].wider = max(g.voids[i].wider, v.wider)
		return
	}
	g.voids = append(g.voids, v)
}

// laterVoids compares chosen voids with segments that got a role later, and checks that each void has a possible
// size.
func (c *recording) laterVoids(p *Player) {
	for _, k := range c.voidChoices {
		for j := k.roles; j < int32(len(c.roles)); j++ {
			if r := &c.roles[j]; !r.void && r.how != grow && r.how != born && r.set == c.roles[k.role].set {
				c.smaller(&c.roles[k.role], p.shared[r.before].holes, k.size, k.wider)
			}
		}
	}
	for k := range c.roles {
		if r := &c.roles[k]; r.void && (c.was[k].size < r.low || c.was[k].size > r.high) {
			c.broken = true
		}
	}
}

// linked records the neighbors of each piece, at the start and at the end.
func (c *recording) linked(p *Player) {
	for k, i := range c.segs {
		s, w, r := &p.segs[i], &c.was[k], &c.roles[k]
		r.left, r.right = c.neighbor(p, w.prev, w.prev), c.neighbor(p, w.next, w.next)
		if s.set != none {
			r.prev, r.next = c.neighbor(p, s.prev, w.prev), c.neighbor(p, s.next, w.next)
		}
	}
}

// neighbor returns a neighbor as a role.
func (c *recording) neighbor(p *Player, now, was int32) int32 {
	switch {
	case now == none:
		return none
	case p.segs[now].role > 0:
		return p.segs[now].role - 1
	case now != was:
		c.broken = true
	}
	return roleless
}
