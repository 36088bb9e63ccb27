// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"

	"snug/internal/allocator"
	"snug/internal/snapshot"
)

// follower is a driver that does what the recorded one did. It returns the recorded addresses, so that ties between
// equal blocks are resolved as recorded; it fails where the recording shows that the card was full; and it compares
// every request with the recording and notes the first difference. From then on it makes up addresses.
type follower struct {
	events  []snapshot.SegmentEvent // the recorded events still to come
	now     int                     // the event being played
	part    uint64                  // the part of events[0] that single pages have covered
	refused int                     // len(events) at the last refusal
	wrong   string                  // the first difference
	used    uint64
	spare   uint64 // addresses above all recorded ones
}

// newDriver returns the driver for a replay: a follower if the recording can be followed, otherwise ownDriver.
func newDriver(d *snapshot.Device, o Options) allocator.Device {
	if !o.recorded() || len(d.SegmentEvents) == 0 && len(d.Start) == 0 {
		return ownDriver()
	}
	f := &follower{events: d.SegmentEvents, refused: -1}
	for _, s := range d.Start {
		f.spare = max(f.spare, s.Addr+s.Size)
	}
	for _, e := range d.SegmentEvents {
		f.spare = max(f.spare, e.Addr+e.Size)
	}
	f.spare = (f.spare>>30 + 1) << 30
	return f
}

// Take is cudaMalloc.
func (f *follower) Take(bytes uint64) (uint64, bool) {
	if e := f.next(snapshot.SegmentFree); e != nil && !e.Flush && f.refused != len(f.events) {
		f.refused = len(f.events)
		return 0, false
	}
	if bytes > f.left() {
		return 0, false
	}
	e := f.next(snapshot.SegmentAlloc)
	if e == nil || e.Size != bytes {
		f.differ("allocates a segment of %d bytes", bytes)
		f.used += bytes
		return f.Reserve(bytes), true
	}
	f.events = f.events[1:]
	f.used += bytes
	return e.Addr, true
}

// Give is cudaFree.
func (f *follower) Give(addr, bytes uint64) {
	f.used -= bytes
	e := f.next(snapshot.SegmentFree)
	if e == nil || e.Addr != addr || e.Size != bytes {
		f.differ("frees the segment of %d bytes at %#x", bytes, addr)
		return
	}
	f.events = f.events[1:]
}

// Reserve is cuMemAddressReserve. The first mapped page shows the address.
func (f *follower) Reserve(bytes uint64) uint64 {
	if e := f.next(snapshot.SegmentMap); e != nil && f.part == 0 {
		return e.Addr
	}
	addr := f.spare
	f.spare += (bytes>>30 + 1) << 30
	return addr
}

// Map maps page after page; a recorded entry covers several pages.
func (f *follower) Map(page, n uint64) (mapped uint64) {
	for mapped < n {
		if e := f.next(snapshot.SegmentUnmap); e != nil && !e.Flush && f.refused != len(f.events) {
			f.refused = len(f.events)
			break
		}
		fit := min(n-mapped, f.left()/page)
		if fit == 0 {
			break
		}
		k := f.pages(snapshot.SegmentMap, "maps", page, fit)
		f.used += k * page
		mapped += k
	}
	return mapped
}

// Unmap unmaps page after page.
func (f *follower) Unmap(page, n uint64) {
	f.used -= n * page
	for n > 0 {
		n -= f.pages(snapshot.SegmentUnmap, "unmaps", page, n)
	}
}

// pages follows the next entry for up to n pages, and returns how many of them it covers: all if the recording is no
// longer followed.
func (f *follower) pages(kind snapshot.SegmentKind, does string, page, n uint64) uint64 {
	e := f.next(kind)
	if e == nil || page > e.Size-f.part {
		f.differ("%s a page of %d bytes", does, page)
		return n
	}
	n = min(n, (e.Size-f.part)/page)
	if f.part += n * page; f.part == e.Size {
		f.events, f.part = f.events[1:], 0
	}
	return n
}

// Info is cudaMemGetInfo.
func (f *follower) Info() (free, total uint64) { return f.left(), cardBytes }

// left returns the card's remaining memory: more than any card has, but finite, so that addresses are not reused.
func (f *follower) left() uint64 {
	if f.used > cardBytes {
		return 0
	}
	return cardBytes - f.used
}

// Adopt counts a segment that existed before the recording.
func (f *follower) Adopt(_, bytes uint64) { f.used += bytes }

// next returns the recording's next segment event if it has that kind and belongs to the event being played, or nil.
func (f *follower) next(kind snapshot.SegmentKind) *snapshot.SegmentEvent {
	if f.wrong != "" || len(f.events) == 0 || f.events[0].Kind != kind || f.events[0].Event != f.now {
		return nil
	}
	return &f.events[0]
}

func (f *follower) differ(format string, args ...any) {
	if f.wrong != "" {
		return
	}
	f.wrong = fmt.Sprintf("event %d: the replay %s, but the recording %s", f.now, fmt.Sprintf(format, args...), f.recording())
}

// recording describes what the recording does next, for a message.
func (f *follower) recording() string {
	switch {
	case len(f.events) == 0:
		return "does nothing"
	case f.events[0].Event == f.now:
		return "has a " + f.events[0].String()
	default:
		return fmt.Sprintf("does nothing before a %v at event %d", f.events[0], f.events[0].Event)
	}
}

// verdict returns the first difference; "" if there was none.
func (f *follower) verdict(r allocator.Result) string {
	switch {
	case f.wrong != "":
		return f.wrong
	case r.OOM != nil:
		return fmt.Sprintf("event %d: the replay runs out of memory, but the recording continues", r.OOMAt)
	case len(f.events) > 0:
		return fmt.Sprintf("the recording has a %v at event %d that the replay does not", f.events[0], f.events[0].Event)
	}
	return ""
}

// ownDriver returns a driver that places segments like the CUDA driver, as far as that is known, on a card that is
// never full.
func ownDriver() allocator.Device { return allocator.NewDriver(cardBytes, 0) }
