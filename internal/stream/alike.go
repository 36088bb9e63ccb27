// SPDX-License-Identifier: Apache-2.0

package stream

// alike reports whether, in every pass, the iterations around the middle one do the same as the middle one.
func (u *Folded) alike() bool {
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

// same reports whether two sections are equal, each relative to its own iteration.
func (u *Folded) same(a, b *section) bool {
	if a.to-a.from != b.to-b.from || a.made != b.made {
		return false
	}
	for i := range a.to - a.from {
		x, y := u.Trace.Events[a.from+i], u.Trace.Events[b.from+i]
		if x.Kind != y.Kind || x.Size != y.Size || x.Queue != y.Queue {
			return false
		}
		if x.Kind != Alloc && (x.Kind != Free || !u.sameTarget(a, x.ID, b, y.ID)) {
			return false
		}
	}
	return true
}

// sameTarget reports whether two sections free allocations with the same position, in iterations at the same
// distance.
func (u *Folded) sameTarget(a *section, x uint32, b *section, y uint32) bool {
	if u.home[x] < 0 || u.home[y] < 0 {
		return false
	}
	s, t := &u.sections[u.home[x]], &u.sections[u.home[y]]
	far := int(s.iteration) - int(a.iteration)
	return s.pass == t.pass && x-s.first == y-t.first && far == int(t.iteration)-int(b.iteration) &&
		-reach <= far && far <= reach && u.passes[s.pass].around[reach] >= 0
}

// keepsApart reports whether allocations from iterations around the middle one are freed only by those iterations,
// and whether all others are freed by an iteration on the same side of the middle.
func (u *Folded) keepsApart() bool {
	next := 0
	for i := range u.Trace.Events {
		for next < len(u.sections) && u.sections[next].to <= i {
			next++
		}
		e := &u.Trace.Events[i]
		if e.Kind == Alloc || e.Kind == Mark || e.Kind == EmptyCache || u.home[e.ID] < 0 {
			continue
		}
		made := u.sections[u.home[e.ID]].iteration
		if next == len(u.sections) || i < u.sections[next].from {
			if u.near(made) {
				return false
			}
			continue
		}
		if in := u.sections[next].iteration; !u.near(in) && u.crosses(in, made) {
			return false
		}
	}
	return true
}

// near reports whether an iteration is the middle one or close to it.
func (u *Folded) near(iteration uint8) bool {
	return iteration+reach >= u.Middle && iteration <= u.Middle+reach
}

// crosses reports whether the middle iteration is a or b, or between them.
func (u *Folded) crosses(a, b uint8) bool {
	return min(a, b) <= u.Middle && u.Middle <= max(a, b)
}

// copiesMatch reports whether the stretches that a Copy repeats keep their length when unfolded.
func (u *Folded) copiesMatch() bool {
	for _, c := range u.Trace.Copies {
		if u.At(c.From+c.N)-u.At(c.From) != u.At(c.From+2*c.N)-u.At(c.From+c.N) {
			return false
		}
	}
	return true
}
