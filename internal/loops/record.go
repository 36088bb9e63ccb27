// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"cmp"
	"math"
	"slices"
)

// recording is a number of iterations being played, with everything that determines their outcome. The segments
// they touch have roles, numbered in order of first use.
type recording struct {
	shortcut
	body    *body
	broken  bool // the recording cannot become a shortcut
	first   int  // first copy
	left    int  // number of iterations still to be recorded
	bridges bool // the recording ends early if it reaches a state where a shortcut starts

	segs  []int32 // segments by role
	picks []pick
	next  owner   // owner of the next block to be freed
	made  []place // places of live allocations made by these iterations, by owner
	holey bool    // one of the roles is a void
	taken []owned

	below       [][]uint64 // the ties of each role
	was         []piece    // each role's piece at the start
	voidChoices []voidChoice
	dead        []int32 // removed pieces
	count       int     // number of roles

	allocated, requested uint64 // at the start
}

// owner is a copy of an allocation in the body, counted from the recording's first copy.
type owner struct {
	slot int32
	copy int
}

var noOwner = owner{slot: none}

// owned is a copy of an allocation and its place.
type owned struct {
	owner
	role int32
	at   uint64
}

// pick is the choice of a hole in a segment that already had a role. Segments that get a role later had the same
// holes then, because a segment gets its role when it is first touched.
type pick struct {
	role, roles int32 // the chosen role, and the number of roles at that time
	set         int32
	size        uint64
}

// piece is the place and the neighbors of a segment, or of a piece of one.
type piece struct {
	addr       uint64
	size       int64 // size of a void
	prev, next int32
}

// voidChoice is the choice of a void for a request.
type voidChoice struct {
	deep
	roles int32 // number of roles at that time
	size  uint64
}

// record starts a recording of the given number of iterations.
func (w *watch) record(p *Player, b *body, done, iterations int) {
	c := &w.room
	for i := range c.below {
		clear(c.below[i])
	}
	*c = recording{
		shortcut: shortcut{
			iterations: iterations, start: w.sum, most: math.MinInt64, mostAsked: math.MinInt64,
			roles: c.roles[:0], guards: c.guards[:0], ties: c.ties[:0], deeper: c.deeper[:0],
		},
		body: b, first: b.loop.Copy(done), left: iterations, next: noOwner,
		below: c.below, segs: c.segs[:0], picks: c.picks[:0], made: cleared(c.made, iterations*len(b.owned)), taken: c.taken[:0],
		was: c.was[:0], voidChoices: c.voidChoices[:0], dead: c.dead[:0],
		allocated: p.allocated, requested: p.requested,
	}
	w.rec = c
}

// join gives a segment a role in the recording.
func (c *recording) join(p *Player, i int32, r role) int32 {
	s := &p.segs[i]
	r.set = s.set
	was := piece{addr: s.addr, prev: s.prev, next: s.next}
	if r.void = s.void; s.void {
		c.holey = true
		r.low, r.high = 1, math.MaxInt64
		was.size = int64(p.voidSize(i))
		c.admits(&r, int32(len(c.roles)), was.size)
	} else {
		r.before = p.internLayout(s)
	}
	c.was = append(c.was, was)
	c.broken = c.broken || s.alone
	c.roles, c.segs = append(c.roles, r), append(c.segs, i)
	s.role = int32(len(c.roles))
	c.counts(1)
	return s.role - 1
}

// counts adds n to the number of roles and abandons the recording if there are too many.
func (c *recording) counts(n int) {
	c.count += n
	c.broken = c.broken || c.count > maxRoles
}

// maxRoles limits the number of roles in a shortcut. A shortcut with more roles saves little, because it touches at
// least one segment per iteration.
const maxRoles = 128

// chosen records the choice of a hole and the conditions under which it would be made again.
func (c *recording) chosen(p *Player, r *request, got uint64, at place, grown bool) {
	i := p.segs[at.seg-1].role - 1
	switch {
	case i >= 0 && c.roles[i].void:
	case i >= 0:
		c.pick(pick{i, int32(len(c.roles)), r.set, got})
	case grown:
		i = c.join(p, at.seg-1, role{how: grow, size: got})
		c.grows += got
		c.lastGrowth = c.events
	default:
		i = c.join(p, at.seg-1, role{how: draw, size: r.size, got: got, at: at.at})
	}
	if c.holey {
		c.voids(p, r, got, i, grown)
	}
	if c.roles[i].void {
		return
	}
	c.guard(r, got, i, grown)
	if b := p.sets[r.set].bin(got); b.own+len(b.layouts) > 1 {
		c.tie(p, r.set, got, i)
	}
}

// pick records a pick, unless it is already recorded.
func (c *recording) pick(x pick) {
	for _, k := range c.picks {
		if k.role == x.role && k.size == x.size {
			return
		}
	}
	c.picks = append(c.picks, x)
}

// guard records that no segment without a role may have a better hole.
func (c *recording) guard(r *request, got uint64, role int32, grown bool) {
	if grown {
		got = math.MaxUint64
	}
	k := slices.IndexFunc(c.guards, func(g guard) bool { return g.set == r.set && g.size == r.size })
	if k < 0 {
		k = len(c.guards)
		c.guards = append(c.guards, guard{set: r.set, size: r.size})
	}
	g := &c.guards[k]
	if got > g.got {
		g.got, g.roles = got, nil
	}
	if got == g.got && !slices.Contains(g.roles, role) {
		g.roles = append(g.roles, role)
	}
}

// tie records that a segment was preferred to others with a hole of the same size.
func (c *recording) tie(p *Player, set int32, size uint64, chosen int32) {
	for k, i := range c.segs {
		if s := &p.segs[i]; int32(k) != chosen && s.set == set && !s.void && hasHole(p.marks(s), size) {
			c.orders(chosen, int32(k))
		}
	}
}

// orders records, once, that one role must have a lower address than another.
func (c *recording) orders(lower, higher int32) {
	for int(lower) >= len(c.below) {
		c.below = append(c.below, nil)
	}
	row, w := c.below[lower], higher/64
	for int(w) >= len(row) {
		row = append(row, 0)
	}
	c.below[lower] = row
	if row[w]>>(higher%64)&1 == 0 {
		row[w] |= 1 << (higher % 64)
		c.ties = append(c.ties, tie{lower, higher})
	}
}

func hasHole(marks []mark, size uint64) bool {
	for j, m := range marks {
		if !m.used() && marks[j+1].at()-m.at() == size {
			return true
		}
	}
	return false
}

// freed records a freed block. If an earlier iteration allocated it, the shortcut requires it to be at the same
// place.
func (c *recording) freed(p *Player, at place) {
	x := c.next
	c.next = noOwner
	i := p.segs[at.seg-1].role - 1
	if i < 0 {
		i = c.join(p, at.seg-1, role{how: locate, owner: x, at: at.at})
	}
	if x == noOwner {
		return
	}
	if k := c.madeAt(x); k >= 0 && c.made[k] != (place{}) {
		c.made[k] = place{}
		return
	}
	c.taken = append(c.taken, owned{x, i, at.at})
}

// noted is called after each event, to update the peaks.
func (c *recording) noted(p *Player) {
	now := int64(p.allocated) - int64(c.allocated)
	if now > c.most {
		c.most, c.mostAt = now, c.events
	}
	c.mostAsked = max(c.mostAsked, int64(p.requested)-int64(c.requested))
	c.events++
}

// finish turns the recording into a shortcut, or returns nil if that is not possible.
func (c *recording) finish(p *Player) *shortcut {
	var left []owned
	for k, at := range c.made {
		if at != (place{}) {
			left = append(left, owned{c.madeBy(k), p.segs[at.seg-1].role - 1, at.at})
		}
	}
	c.linked(p)
	for k, i := range c.segs {
		s, r := &p.segs[i], &c.roles[k]
		s.role = 0
		switch {
		case s.set == none:
			r.after = none
		case r.void:
			r.moves, r.widens = int64(s.addr-c.was[k].addr), int64(p.voidSize(i))-c.was[k].size
		default:
			r.after = p.internLayout(s)
			p.share(s, r.after)
		}
	}
	p.gone = append(p.gone, c.dead...)
	c.laterTies(p)
	if c.laterVoids(p); c.broken {
		return nil
	}
	s := c.shortcut
	s.end, s.roles, s.guards, s.ties = p.watch.sum, slices.Clone(c.roles), slices.Clone(c.guards), slices.Clone(c.ties)
	slices.SortStableFunc(s.ties, func(a, b tie) int { return cmp.Compare(a.last(), b.last()) })
	s.deeper = slices.Clone(c.deeper)
	s.leaves, s.frees = runsOf(left, c.body.loop.Down), runsOf(c.taken, false)
	s.allocated = int64(p.allocated) - int64(c.allocated)
	s.requested = int64(p.requested) - int64(c.requested)
	s.compact()
	return &s
}

// laterTies adds ties with segments that got a role after a pick.
func (c *recording) laterTies(p *Player) {
	for _, k := range c.picks {
		for j := k.roles; j < int32(len(c.roles)); j++ {
			r := &c.roles[j]
			if r.how == grow || r.how == born || r.void || r.set != k.set {
				continue
			}
			if _, ok := p.shared[r.before].hole(k.size); ok {
				c.orders(k.role, j)
			}
		}
	}
}
