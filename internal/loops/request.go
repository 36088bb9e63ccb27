// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"cmp"
	"slices"

	"snug/internal/allocator"
)

// request is an allocation as the allocator sees it, in quanta.
type request struct {
	size  uint64
	set   int32
	bytes uint64
}

func requestOf(bytes uint64, queue uint16) request {
	r := request{size: (bytes + quantum - 1) / quantum, set: 2 * int32(queue), bytes: bytes}
	if r.size > smallMost {
		r.set++
	}
	return r
}

// cuts reports whether the request splits a block of this size.
func (r *request) cuts(size uint64) bool {
	rest := size - r.size
	return rest > smallMost || rest != 0 && r.set%2 == 0
}

// segment returns the size of the new segment for a request that fits in no hole.
func (r *request) segment() uint64 {
	switch {
	case r.size <= smallMost:
		return smallBuffer
	case r.size < minLarge:
		return largeBuffer
	}
	return (r.size + roundLarge - 1) / roundLarge * roundLarge
}

// alloc finds a block for a request.
func (p *Player) alloc(bytes uint64, queue uint16) (place, error) {
	if bytes == 0 {
		return place{}, nil
	}
	if bytes >= absurd {
		return place{}, &allocator.OutOfMemoryError{Version: p.version, Requested: bytes, Absurd: true}
	}
	r := requestOf(bytes, queue)
	got, at, ok := p.seek(r.set, r.size)
	if !ok {
		i, err := p.grow(&r)
		if err != nil {
			return place{}, err
		}
		got, at = r.segment(), hole{p.segs[i].addr, i}
	}
	return p.take(&r, got, at, !ok), nil
}

// take marks a hole as used.
func (p *Player) take(r *request, got uint64, x hole, grown bool) place {
	s := &p.segs[x.seg]
	switch {
	case p.opens(s, r, got):
		p.open(x.seg)
	case s.void && got < p.voidLeast && (s.prev != none || s.next != none):
		p.shut(x.seg)
	}
	at := place{seg: x.seg + 1, at: x.addr - s.addr}
	p.watch.chosen(p, r, got, at, grown)
	size := got
	if s.void {
		if r.cuts(got) {
			size = r.size
		}
		p.rise(size*quantum, r.bytes)
		return p.takeFront(r, got, x.seg)
	}
	o := p.edit(x.seg)
	p.sets[r.set].drop(got)
	if r.cuts(got) {
		size = r.size
		p.sets[r.set].add(got-size, hole{x.addr + size, x.seg})
	}
	o.use(find(o.marks, at.at), size)
	p.rise(size*quantum, r.bytes)
	return at
}

// free frees a block that was allocated for a request of the given bytes.
func (p *Player) free(at place, bytes uint64) {
	if at.seg == 0 {
		return
	}
	i := at.seg - 1
	s := &p.segs[i]
	p.watch.freed(p, at)
	o := p.edit(i)
	j := find(o.marks, at.at)
	p.fall((o.marks[j+1].at()-at.at)*quantum, bytes)
	before, after, j := o.release(j)
	h := &p.sets[s.set]
	if before > 0 {
		h.drop(before)
	}
	if after > 0 {
		h.drop(after)
	}
	if p.detach(i, j) {
		return
	}
	from := o.marks[j].at()
	h.add(o.marks[j+1].at()-from, hole{s.addr + from, i})
}

// grow allocates a segment from the device. If the device is full, it flushes the cache and retries.
func (p *Player) grow(r *request) (int32, error) {
	if i := p.segment(r); i != none {
		return i, nil
	}
	p.flush()
	p.retries++
	if i := p.segment(r); i != none {
		return i, nil
	}
	free, total := p.dev.Info()
	return none, &allocator.OutOfMemoryError{
		Version: p.version, Requested: r.bytes, Segment: r.segment() * quantum, Total: total, Free: free,
		Allocated: p.allocated, Reserved: p.held * quantum, Limit: p.limit, Limited: p.limit > 0,
	}
}

// segment requests a segment from the device, without retrying.
func (p *Player) segment(r *request) int32 {
	size := r.segment()
	if p.limit > 0 && (p.held+size)*quantum > p.limit {
		return none
	}
	addr, ok := p.dev.Take(size * quantum)
	if !ok {
		return none
	}
	i := p.addSegment(addr/quantum, r.set, size)
	p.enter(&p.segs[i], p.empty(r.set, size))
	return i
}

// flush returns every unused segment to the device: the large pool's first, and within a pool by CUDA stream,
// size and address.
func (p *Player) flush() {
	p.watch.stop(p)
	var whole []int32
	for i := range p.segs {
		if s := &p.segs[i]; s.set != none {
			if m := p.marks(s); len(m) == 2 && !m[0].used() && s.prev == none && s.next == none {
				whole = append(whole, int32(i))
			}
		}
	}
	p.work += len(p.segs)/looksCost + len(whole)
	slices.SortFunc(whole, func(x, y int32) int {
		a, b := &p.segs[x], &p.segs[y]
		return cmp.Or(cmp.Compare(b.set%2, a.set%2), cmp.Compare(p.handle(a), p.handle(b)),
			cmp.Compare(p.size(a), p.size(b)), cmp.Compare(a.addr, b.addr))
	})
	for _, i := range whole {
		s := &p.segs[i]
		size := p.size(s)
		p.dev.Give(s.addr*quantum, size*quantum)
		p.held -= size
		if s.void {
			p.sets[s.set].drop(size)
			p.remove(i)
			continue
		}
		p.share(s, p.empty(s.set, size))
		p.leave(s)
		s.set = none
		p.slots[p.slot(s.addr)] = none
		p.gone = append(p.gone, i)
	}
}

func (p *Player) handle(s *segment) uint64 { return p.stream.Trace.Queues[s.set/2] }

// size returns a segment's size.
func (p *Player) size(s *segment) uint64 {
	m := p.marks(s)
	return m[len(m)-1].at()
}
