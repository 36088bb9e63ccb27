// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A recording may begin in the middle of a run, because recording was switched
// on late or because its ring of entries overwrote the first ones. The file
// holds the state at the end; undoing the segment entries from the last to the
// first gives the segments as the recording began, and the allocations whose
// alloc is missing (fold.go) are what was in them.

// rewind sets the device's Start.
func (f *folder) rewind() error {
	segs := make([]Segment, len(f.out.Final))
	for i, s := range f.out.Final {
		s.Blocks = nil
		segs[i] = s
	}
	undo := rewinder{segs: segs, device: f.out.Index}
	for i := len(f.out.SegmentEvents) - 1; i >= 0; i-- {
		e := f.out.SegmentEvents[i]
		if err := undo.event(e); err != nil {
			return fmt.Errorf("%v, before event %d: %w", e, e.Event, err)
		}
	}
	f.out.Start = undo.segs
	return f.place()
}

// rewinder is a list of segments, by address.
type rewinder struct {
	segs   []Segment
	device int
}

func (r *rewinder) event(e SegmentEvent) error {
	if e.Size == 0 || e.Addr+e.Size < e.Addr {
		return errors.New("that makes no sense")
	}
	switch e.Kind {
	case SegmentAlloc:
		return r.remove(e)
	case SegmentMap:
		return r.cut(e)
	case SegmentFree:
		return r.add(e, false)
	default:
		return r.add(e, true)
	}
}

// find returns the segment that holds addr, or where it would go.
func (r *rewinder) find(addr uint64) (int, bool) {
	i, exact := slices.BinarySearchFunc(r.segs, addr, func(s Segment, a uint64) int { return cmp.Compare(s.Addr, a) })
	if exact {
		return i, true
	}
	if i > 0 && addr < r.segs[i-1].Addr+r.segs[i-1].Size {
		return i - 1, true
	}
	return i, false
}

func (r *rewinder) remove(e SegmentEvent) error {
	i, ok := r.find(e.Addr)
	if !ok || r.segs[i].Addr != e.Addr || r.segs[i].Size != e.Size {
		return errors.New("the final state and later entries have no such segment")
	}
	r.segs = slices.Delete(r.segs, i, i+1)
	return nil
}

// cut takes a mapped range out of the range it became part of.
func (r *rewinder) cut(e SegmentEvent) error {
	i, ok := r.find(e.Addr)
	if !ok || e.Addr+e.Size > r.segs[i].Addr+r.segs[i].Size {
		return errors.New("the final state and later entries have no such pages")
	}
	s := r.segs[i]
	var rest []Segment
	if head := s; e.Addr > s.Addr {
		head.Size = e.Addr - s.Addr
		rest = append(rest, head)
	}
	if tail := s; e.Addr+e.Size < s.Addr+s.Size {
		tail.Addr = e.Addr + e.Size
		tail.Size = s.Addr + s.Size - tail.Addr
		rest = append(rest, tail)
	}
	r.segs = slices.Replace(r.segs, i, i+1, rest...)
	return nil
}

// add puts back what was given to the driver; mapped ranges that touch are joined.
func (r *rewinder) add(e SegmentEvent, expandable bool) error {
	i, taken := r.find(e.Addr)
	if taken || i < len(r.segs) && e.Addr+e.Size > r.segs[i].Addr {
		return errors.New("the final state and later entries have a segment there")
	}
	s := Segment{
		Addr: e.Addr, Size: e.Size, Stream: e.Stream, Device: r.device,
		Small: e.Size == smallBuffer, Expandable: expandable,
	}
	if expandable {
		s.Small = r.smallRange(i, s)
		if i < len(r.segs) && touches(s, r.segs[i]) {
			s.Size += r.segs[i].Size
			r.segs = slices.Delete(r.segs, i, i+1)
		}
		if i > 0 && touches(r.segs[i-1], s) {
			r.segs[i-1].Size += s.Size
			return nil
		}
	}
	r.segs = slices.Insert(r.segs, i, s)
	return nil
}

// smallBuffer is the size of the small pool's segments. A segment of that size
// is the small pool's: the large pool's begin at 10 MiB.
const smallBuffer = 2 << 20

// smallRange guesses which pool a mapped range belongs to: its neighbour's, else
// by size, since the large pool maps 20 MiB at a time.
func (r *rewinder) smallRange(i int, s Segment) bool {
	if i > 0 && touches(r.segs[i-1], s) {
		return r.segs[i-1].Small
	}
	if i < len(r.segs) && touches(s, r.segs[i]) {
		return r.segs[i].Small
	}
	return s.Size%(20<<20) != 0
}

// touches says whether b continues a: pages of one virtual segment.
func touches(a, b Segment) bool {
	return a.Expandable && b.Expandable && a.Stream == b.Stream && a.Addr+a.Size == b.Addr
}
