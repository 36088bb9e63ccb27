// SPDX-License-Identifier: Apache-2.0

package diagnose

import "snug/internal/snapshot"

// Timeline is the memory in tensors over a recording, by kind.
type Timeline struct {
	Kinds   []string // in stacking order
	Columns []Column // intervals of the recording, in order
	Seconds float64  // of the recording; 0 if it has no times
	Events  int      // of the recording
}

// Column is an interval of a recording, at its highest moment.
type Column struct {
	Bytes    []int64 // by kind
	Reserved uint64  // bytes obtained from the driver
	total    int64
}

// stacked is the order of kinds in a timeline, persistent ones at the bottom.
var stacked = []string{Unknown, Parameters, Optimizer, Checkpoint, Gradients, Workspace, Data, Activations, Logits, Temporaries}

// Timeline returns the memory over the recording in at most n columns.
func (r *Recorded) Timeline(n int) *Timeline {
	d, c := r.device, r.walked
	events := len(d.Trace.Events)
	t := &Timeline{Kinds: stacked, Events: events, Columns: make([]Column, min(n, max(1, events)))}
	if len(d.Times) > 1 {
		t.Seconds = float64(d.Times[len(d.Times)-1]-d.Times[0]) / 1e6
	}
	place := map[string]int{}
	for i, k := range stacked {
		place[k] = i
	}
	initial, now, total := c.initial(d), make([]int64, len(stacked)), int64(0)
	for _, m := range initial {
		now[place[c.kind(m.stack)]] += int64(m.size)
		total += int64(m.size)
	}
	for i := range t.Columns {
		t.Columns[i] = Column{Bytes: append([]int64(nil), now...), total: -1}
	}
	c.walk(d, initial, func(i int, change int64, id uint32) {
		now[place[c.kind(c.made(initial, id).stack)]] += change
		total += change
		col := &t.Columns[i*len(t.Columns)/events]
		if total > col.total {
			col.total = total
			copy(col.Bytes, now)
		}
	})
	t.fill()
	t.reserve(r)
	return t
}

// fill copies the previous column into columns without events.
func (t *Timeline) fill() {
	for i := range t.Columns[1:] {
		if t.Columns[i+1].total < 0 {
			t.Columns[i+1].Bytes = t.Columns[i].Bytes
		}
	}
}

// reserve sets each column's reserved memory.
func (t *Timeline) reserve(r *Recorded) {
	d := r.device
	now := uint64(0)
	for _, s := range d.Start {
		now += s.Size
	}
	next := 0
	for i := range t.Columns {
		most := now
		until := (i + 1) * t.Events / len(t.Columns)
		for ; next < len(d.SegmentEvents) && (d.SegmentEvents[next].Event < until || i == len(t.Columns)-1); next++ {
			now = after(now, d.SegmentEvents[next])
			most = max(most, now)
		}
		t.Columns[i].Reserved = most
	}
}

// after returns the reserved bytes after a segment event.
func after(now uint64, e snapshot.SegmentEvent) uint64 {
	switch e.Kind {
	case snapshot.SegmentAlloc, snapshot.SegmentMap:
		return now + e.Size
	}
	return now - min(now, e.Size)
}
