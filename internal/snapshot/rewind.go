// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
)

// A recording may begin in the middle of a run, because recording was switched on late or because its ring buffer
// overwrote the first entries. The file contains the final state; undoing the segment entries from last to first
// gives the segments at the start of the recording, and the allocations without an alloc entry (fold.go) are their
// contents.

// rewind sets the device's Start.
func (f *folder) rewind() error {
	segs := make([]Segment, len(f.out.Final))
	for i, s := range f.out.Final {
		s.Blocks = nil
		segs[i] = s
	}
	undo := rewinder{segs: newSegmentList(segs), device: f.out.Index}
	for i := len(f.out.SegmentEvents) - 1; i >= 0; i-- {
		e := f.out.SegmentEvents[i]
		if err := undo.event(e); err != nil {
			return fmt.Errorf("%v, before event %d: %w", e, e.Event, err)
		}
	}
	f.out.Start = undo.segs.all()
	return f.place()
}

// rewinder contains the segments at one moment of the recording.
type rewinder struct {
	segs   *segmentList
	device int
}

func (r *rewinder) event(e SegmentEvent) error {
	if e.Size == 0 || e.Addr+e.Size < e.Addr {
		return errors.New("its size or address is impossible")
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

func (r *rewinder) remove(e SegmentEvent) error {
	p, ok := r.segs.find(e.Addr)
	if !ok || r.segs.after(p).Addr != e.Addr || r.segs.after(p).Size != e.Size {
		return errors.New("the final state and later entries have no such segment")
	}
	r.segs.removeAfter(p)
	return nil
}

// cut removes a mapped range from the range that it was merged into.
func (r *rewinder) cut(e SegmentEvent) error {
	p, ok := r.segs.find(e.Addr)
	if !ok || e.Addr+e.Size > r.segs.after(p).end() {
		return errors.New("the final state and later entries have no such pages")
	}
	s := *r.segs.after(p)
	r.segs.removeAfter(p)
	if head := s; e.Addr > s.Addr {
		head.Size = e.Addr - s.Addr
		p = r.segs.insert(p, head)
	}
	if tail := s; e.Addr+e.Size < s.end() {
		tail.Addr = e.Addr + e.Size
		tail.Size = s.end() - tail.Addr
		r.segs.insert(p, tail)
	}
	return nil
}

// add restores a segment that was returned to the driver; adjacent mapped ranges are joined.
func (r *rewinder) add(e SegmentEvent, expandable bool) error {
	p, taken := r.segs.find(e.Addr)
	next := r.segs.after(p)
	if taken || next != nil && e.Addr+e.Size > next.Addr {
		return errors.New("the final state and later entries have a segment there")
	}
	s := Segment{
		Addr: e.Addr, Size: e.Size, Stream: e.Stream, Device: r.device,
		Small: e.Size == smallBuffer, Expandable: expandable,
	}
	if expandable {
		last := r.segs.before(p)
		s.Small = smallRange(last, next, s)
		if touches(&s, next) {
			s.Size += next.Size
			r.segs.removeAfter(p)
		}
		if touches(last, &s) {
			last.Size += s.Size
			return nil
		}
	}
	r.segs.insert(p, s)
	return nil
}

// smallBuffer is the size of the small pool's segments. The large pool's segments are at least 10 MiB.
const smallBuffer = 2 << 20 // allocator.SmallBuffer

// largePage is the amount that the large pool maps at a time (allocator.LargeBuffer). It is repeated here because
// this package does not import the allocator.
const largePage = 20 << 20

// smallRange reports whether a mapped range probably belongs to the small pool. A range belongs to its neighbor's
// pool; without a neighbor its size decides, because the large pool maps 20 MiB at a time.
func smallRange(last, next *Segment, s Segment) bool {
	switch {
	case touches(last, &s):
		return last.Small
	case touches(&s, next):
		return next.Small
	}
	return s.Size%largePage != 0
}

// touches reports whether b directly follows a in one virtual segment.
func touches(a, b *Segment) bool {
	return a != nil && b != nil && a.Expandable && b.Expandable && a.Stream == b.Stream && a.end() == b.Addr
}
