// SPDX-License-Identifier: Apache-2.0

package loops

// A large segment can contain thousands of blocks: memory that a layer freed, filled again token by token. A
// single layout for it would change with every iteration. So it is divided into pieces, each with its own layout
// and links to its neighbors:
//
//	| used used used | used used | v o i d                        | used used |
//
// Free memory between pieces may also be a piece, of any size, which is called a void. It is filled from the front:
// each new block joins the piece before the void, until that piece has many blocks. Memory freed at the end of a
// piece joins the void. So finished pieces have equal layouts, and an iteration touches only the last piece and the
// void. The only thing that matters about a void is whether it is larger or smaller than other holes.
//
// Two neighbors are never both free where they meet, because that memory would be one void.

const (
	cutLeast  = 512 << 20 / quantum // the smallest segment that is divided
	voidLeast = 32 << 20 / quantum  // the smallest void
	maxMarks  = 24                  // maximum number of marks of a piece that still grows
)

// opens reports whether a request splits a large unused segment. From then on the segment is a void whenever it
// is unused.
func (p *Player) opens(s *segment, r *request, got uint64) bool {
	return !s.void && got >= p.cutLeast && r.cuts(got) && s.prev == none && s.next == none && got == p.size(s)
}

// open makes a segment a void.
func (p *Player) open(i int32) {
	p.watch.breaks()
	p.edit(i)
	p.segs[i].void = true
	p.slots[p.slot(p.segs[i].addr)] = none
}

// takeFront allocates a request's block at the front of a void.
func (p *Player) takeFront(r *request, got uint64, i int32) place {
	size, addr := got, p.segs[i].addr
	if r.cuts(got) {
		size = r.size
	}
	at := p.append(i, addr, size)
	p.resize(i, addr+size, got-size)
	return at
}

// append adds a used block before a void: to the piece there, or as a new piece.
func (p *Player) append(void int32, addr, size uint64) place {
	left := p.segs[void].prev
	p.watch.beside(p, left)
	if left == none || len(p.marks(&p.segs[left])) > maxMarks {
		i := p.addPiece(addr, p.segs[void].set, left, void)
		p.owns[p.segs[i].own].marks = append(p.owns[p.segs[i].own].marks[:0], usedMark(0), usedMark(size))
		p.owns[p.segs[i].own].sum = sumOf(usedMark(0), size)
		p.watch.born(p, i, void)
		return place{seg: i + 1}
	}
	o, at := p.edit(left), addr-p.segs[left].addr
	o.sum += sumOf(usedMark(at), size)
	o.marks = append(o.marks, usedMark(at+size))
	return place{seg: left + 1, at: at}
}

// addPiece makes a piece with its own layout between two others. If another piece already has its slot, the new
// piece's layout is never shared.
func (p *Player) addPiece(addr uint64, set, left, right int32) int32 {
	i := p.newSegment(addr, set)
	s := &p.segs[i]
	s.own, s.alone = p.newOwn(), p.slots[p.slot(addr)] != none
	if !s.alone {
		p.slots[p.slot(addr)] = i
	}
	p.link(left, i)
	p.link(i, right)
	return i
}

// link makes two pieces neighbors; either may be none.
func (p *Player) link(left, right int32) {
	if left != none {
		p.segs[left].next = right
	}
	if right != none {
		p.segs[right].prev = left
	}
}

// remove removes a piece.
func (p *Player) remove(i int32) {
	s := &p.segs[i]
	p.link(s.prev, s.next)
	if n := p.slot(s.addr); !s.void && p.slots[n] == i {
		p.slots[n] = none
	}
	p.idle = append(p.idle, s.own)
	s.own, s.set, s.void = none, none, false
	p.watch.removed(p, i)
}

// resize gives a void a new address and size; with size 0 it is removed.
func (p *Player) resize(i int32, addr, size uint64) {
	s := &p.segs[i]
	o := &p.owns[s.own]
	p.sets[s.set].drop(o.marks[1].at())
	s.addr, o.marks[1] = addr, usedMark(size)
	if size == 0 {
		p.watch.breaks()
		p.remove(i)
		return
	}
	p.sets[s.set].add(size, hole{addr, i})
}

// shut turns a small void into a piece with a hole.
func (p *Player) shut(i int32) {
	p.watch.breaks()
	s := &p.segs[i]
	n := p.slot(s.addr)
	s.void, s.alone = false, p.slots[n] != none
	if !s.alone {
		p.slots[n] = i
	}
	o := &p.owns[s.own]
	o.sum = sumOf(o.marks[0], o.marks[1].at())
}

// detach makes hole j of a piece part of a void if the memory next to it is free, and reports whether it did.
func (p *Player) detach(i int32, j int) bool {
	s := &p.segs[i]
	m := p.owns[s.own].marks
	left, right := j == 0 && p.endsFree(s.prev, true), j+2 == len(m) && p.endsFree(s.next, false)
	if !left && !right {
		return false
	}
	addr, size := s.addr+m[j].at(), m[j+1].at()-m[j].at()
	before, after := i, i
	if left || len(m) == 2 {
		before = s.prev
	}
	if right || len(m) == 2 {
		after = s.next
	}
	set := s.set
	p.cut(i, j)
	p.fill(set, before, after, addr, size)
	return true
}

// endsFree reports whether the memory next to a piece is free: the end of the piece before it, or the
// beginning of the one after it.
func (p *Player) endsFree(i int32, end bool) bool {
	if i == none {
		return false
	}
	p.watch.beside(p, i)
	m := p.marks(&p.segs[i])
	if end {
		return !m[len(m)-2].used()
	}
	return !m[0].used()
}

// cut removes hole j, the first or last, from a piece, and the piece itself if nothing else is left.
func (p *Player) cut(i int32, j int) {
	o := p.edit(i)
	m := o.marks
	o.sum -= sumOf(m[j], m[j+1].at()-m[j].at())
	switch {
	case len(m) == 2:
		p.watch.beside(p, p.segs[i].prev)
		p.watch.beside(p, p.segs[i].next)
		p.remove(i)
	case j == 0:
		o.marks = append(m[:0], m[1:]...)
	default:
		m[j] = usedMark(m[j].at())
		o.marks = m[:j+1]
	}
}

// fill turns the memory between two pieces, and any free memory next to it, into a void.
func (p *Player) fill(set, before, after int32, addr, size uint64) {
	if p.endsFree(before, true) && !p.segs[before].void {
		n := len(p.marks(&p.segs[before])) - 2
		before, addr, size = p.trim(before, n, before, p.segs[before].prev, addr, size)
	}
	if p.endsFree(after, false) && !p.segs[after].void {
		after, _, size = p.trim(after, 0, after, p.segs[after].next, addr, size)
	}
	left, right := before != none && p.segs[before].void, after != none && p.segs[after].void
	switch {
	case left && right:
		p.watch.breaks()
		size += p.voidSize(before) + p.voidSize(after)
		p.sets[p.segs[after].set].drop(p.voidSize(after))
		p.remove(after)
		p.resize(before, p.segs[before].addr, size)
	case left:
		p.resize(before, p.segs[before].addr, p.voidSize(before)+size)
	case right:
		p.resize(after, addr, p.voidSize(after)+size)
	default:
		p.watch.breaks()
		p.newVoid(set, before, after, addr, size)
	}
}

// trim turns hole j at an end of a piece into a void, and returns the piece next to it.
func (p *Player) trim(i int32, j int, stays, next int32, addr, size uint64) (int32, uint64, uint64) {
	s := &p.segs[i]
	m := p.marks(s)
	from, n := m[j].at(), m[j+1].at()-m[j].at()
	p.edit(i)
	p.sets[s.set].drop(n)
	addr = min(addr, s.addr+from)
	whole := len(m) == 2
	p.cut(i, j)
	if whole {
		stays = next
	}
	return stays, addr, size + n
}

func (p *Player) newVoid(set, before, after int32, addr, size uint64) {
	i := p.newSegment(addr, set)
	s := &p.segs[i]
	s.own, s.void = p.newOwn(), true
	o := &p.owns[s.own]
	o.marks = append(o.marks[:0], freeMark(0), usedMark(size))
	p.link(before, i)
	p.link(i, after)
	p.sets[set].add(size, hole{addr, i})
	if size < p.voidLeast && (before != none || after != none) {
		p.shut(i)
	}
}

func (p *Player) voidSize(i int32) uint64 { return p.owns[p.segs[i].own].marks[1].at() }
