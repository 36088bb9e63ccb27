// SPDX-License-Identifier: Apache-2.0

package snapshot

import "snug/internal/stream"

// Segments are returned to the driver for two reasons: the program called empty_cache, or an allocation found the
// card full and the allocator flushed its cache to try again. The trace has segment_free for both. A replay must
// distinguish them: the first is an event of the program, the second depends on the full card and does not happen on
// a larger card or with other options.
//
// A run of segment_free without a new segment after it is an empty_cache (or the flush of an allocation that failed
// anyway, which leaves the same state). If a new segment follows immediately, the allocation caused the run if
//
//   - options that make the allocator return single segments are set (max_split_size, garbage
//     collection), or
//   - the stacks are equal (a flush has the stack of its allocation), and the request on top of the
//     reserved memory is not known to fit, because the recording never reaches that much elsewhere.

// givenBack writes the run of segment_free or segment_unmap at entry i, and returns its length.
func (w *writer) givenBack(i int) int {
	end := i
	for end < len(w.ids) && isGiven(w.entry(end).action) {
		end++
	}
	flush := !w.causedByNext(i, end)
	before := len(w.out.SegmentEvents)
	for j := i; j < end; j++ {
		w.segment(w.entry(j))
	}
	for j := before; j < len(w.out.SegmentEvents); j++ {
		w.out.SegmentEvents[j].Flush = flush
	}
	if flush {
		w.event(stream.Event{Kind: stream.EmptyCache}, w.entry(i))
	}
	return end - i
}

// causedByNext reports whether the allocation at entry end caused segments i to end to be returned.
func (w *writer) causedByNext(i, end int) bool {
	if end == len(w.ids) || !isTaken(w.entry(end).action) {
		return false
	}
	next := w.entry(end)
	if w.partial() {
		return true
	}
	return next.stack == w.entry(i).stack && w.reserved+int64(next.size) > w.most
}

// partial reports whether the allocator may return some segments and keep others.
func (w *writer) partial() bool {
	return w.settings.GCThreshold > 0 || w.settings.Known && w.settings.MaxSplitSize > 0
}

func isGiven(a action) bool { return a == actSegmentFree || a == actSegmentUnmap }
func isTaken(a action) bool { return a == actSegmentAlloc || a == actSegmentMap }

// reserve returns the bytes reserved in segments after an entry, relative to the recording's start.
func reserve(held int64, e *entry) int64 {
	switch {
	case isGiven(e.action):
		return held - int64(e.size)
	case isTaken(e.action):
		return held + int64(e.size)
	}
	return held
}
