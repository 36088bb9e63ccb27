// SPDX-License-Identifier: Apache-2.0

package stream

// plenty is more than any memory has; counting stops there.
const plenty = 1 << 56

// PeakRequested returns the peak of the bytes requested by allocations before event until of the folded trace; 0
// means the whole trace. It takes no longer than reading the folded trace, because each iteration of a loop requests
// the same amount more than the one before. Counting stops at 2^56 bytes, more than any
// memory has; a result that large is only a lower bound.
func (f *Folded) PeakRequested(until int) uint64 {
	if until == 0 {
		until = len(f.Trace.Events)
	}
	r := requested{sizes: make([]uint64, f.Trace.next)}
	loops := f.Loops()
	for i := 0; i < until && r.peak < plenty; {
		if len(loops) > 0 && loops[0].From == i {
			r.loop(f.Trace.Events[i:loops[0].To], loops[0].Times)
			i, loops = loops[0].To, loops[1:]
			continue
		}
		r.event(&f.Trace.Events[i])
		i++
	}
	return uint64(r.peak)
}

// requested counts the bytes requested by live allocations.
type requested struct {
	now, peak int64
	sizes     []uint64
}

func (r *requested) event(e *Event) {
	switch e.Kind {
	case Alloc:
		r.sizes[e.ID] = min(e.Size, plenty)
		r.now += int64(r.sizes[e.ID])
		r.peak = max(r.peak, r.now)
	case Free, FreeRequested:
		r.now -= int64(r.sizes[e.ID])
	}
}

// loop counts all iterations of a loop. The peak is in the first or in the last one.
func (r *requested) loop(events []Event, times int) {
	before := r.now
	r.count(events)
	more := r.now - before
	switch {
	case r.peak >= plenty || more > plenty/int64(times):
		r.peak = plenty
		return
	case times > 2:
		r.now += more * int64(times-2)
	}
	if times > 1 {
		r.count(events)
	}
}

// count counts one iteration. Counting stops when the peak reaches plenty.
func (r *requested) count(events []Event) {
	for i := 0; i < len(events) && r.peak < plenty; i++ {
		r.event(&events[i])
	}
}
