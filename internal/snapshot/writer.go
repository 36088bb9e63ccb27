// SPDX-License-Identifier: Apache-2.0

package snapshot

import "snug/internal/stream"

// writer appends a folder's events to its device, with their times, stacks and metadata.
type writer struct {
	*folder
	queues   []uint16 // queue of each of the machine's streams
	reserved int64    // bytes of segments, relative to the start
	labels   []label  // the remaining labels
	text     uint32   // the current label
}

func newWriter(f *folder) *writer {
	w := &writer{folder: f, labels: f.m.labels}
	for _, handle := range f.m.streams {
		w.queues = append(w.queues, f.out.Trace.Queue(handle))
	}
	return w
}

// write writes the events that begin at entry i, and returns the number of entries they used.
func (w *writer) write(i int) int {
	e := w.entry(i)
	for len(w.labels) > 0 && int(w.labels[0].from) <= int(w.list.start)+i {
		w.text, w.labels = w.labels[0].text, w.labels[1:]
	}
	switch e.action {
	case actAlloc:
		w.out.Addresses = append(w.out.Addresses, e.addr)
		w.event(stream.Event{Size: e.size, Queue: w.queues[e.stream], Kind: stream.Alloc}, e)
	case actFreeRequested:
		if i+1 < len(w.ids) {
			if next := w.entry(i + 1); next.action == actFreeCompleted && next.addr == e.addr {
				w.event(stream.Event{ID: w.id(i), Kind: stream.Free}, e)
				return 2
			}
		}
		w.event(stream.Event{ID: w.id(i), Kind: stream.FreeRequested}, e)
	case actFreeCompleted:
		kind := stream.FreeCompleted
		if w.whole {
			kind = stream.Free
		}
		w.event(stream.Event{ID: w.id(i), Kind: kind}, e)
	case actSegmentAlloc, actSegmentMap:
		w.segment(e)
	case actSegmentFree, actSegmentUnmap:
		return w.givenBack(i)
	case actOOM:
		w.out.OOMs = append(w.out.OOMs, OOM{
			Size: e.size, DeviceFree: int64(e.addr), Event: len(w.out.Trace.Events), Time: e.time, Stack: e.stack,
		})
	}
	return 1
}

// event appends an event and its columns.
func (w *writer) event(ev stream.Event, e *entry) {
	d := w.out
	if ev.Kind == stream.Alloc {
		d.Trace.Alloc(ev.Size, ev.Queue)
	} else {
		d.Trace.Add(ev.Kind, ev.ID, ev.Queue)
	}
	if e.time != 0 || d.Times != nil {
		d.Times = put(d.Times, e.time, d.Trace)
	}
	if e.stack != 0 || d.Stacks != nil {
		d.Stacks = put(d.Stacks, e.stack, d.Trace)
	}
	if w.text != 0 || d.Metadata != nil {
		d.Metadata = put(d.Metadata, w.text, d.Trace)
	}
}

// put returns a column with v for the last event. The column stays empty until the first event with a value.
func put[T any](column []T, v T, t *stream.Trace) []T {
	if column == nil {
		column = make([]T, len(t.Events)-1, cap(t.Events))
	}
	return append(column, v)
}

var segmentKinds = map[action]SegmentKind{
	actSegmentAlloc: SegmentAlloc, actSegmentFree: SegmentFree,
	actSegmentMap: SegmentMap, actSegmentUnmap: SegmentUnmap,
}

func (w *writer) segment(e *entry) {
	w.out.SegmentEvents = append(w.out.SegmentEvents, SegmentEvent{
		Addr: e.addr, Size: e.size, Stream: w.m.streams[e.stream],
		Event: len(w.out.Trace.Events), Stack: e.stack, Kind: segmentKinds[e.action],
	})
	w.reserved = reserve(w.reserved, e)
}
