// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/allocator"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// Timeline is one optimizer step over time, in columns of as many events each.
type Timeline struct {
	Allocated []uint64 // the highest in the column
	Reserved  []uint64
	Starts    []PhaseStart
	Peak      int // the column of the peak, -1 where it is not in this step
}

// PhaseStart is where a phase of the step begins.
type PhaseStart struct {
	Phase  uint32 // simulate.Forward, …
	Column int
}

// Events is how long the stream is, and with it what playing it costs.
func (a *Answer) Events() int { return len(a.run.trace.Events) }

// Timeline samples the step in which the peak is, or the last one; of a
// recording, which does not say where steps begin, all of it.
func (a *Answer) Timeline(columns int) (Timeline, error) {
	t := a.run.trace
	from, to := a.stepAround(a.Play.PeakAllocatedAt)
	columns = min(columns, to-from)
	out := Timeline{Allocated: make([]uint64, columns), Reserved: make([]uint64, columns), Peak: -1}
	column := func(i int) int { return (i - from) * columns / (to - from) }
	al, err := a.run.allocator(a.Setup, a.shown(), a.shownLimit())
	if err != nil {
		return out, err
	}
	_, err = a.run.play(al, allocator.PlayOptions{Observe: func(i int) {
		if i < from || i >= to {
			return
		}
		c := column(i)
		out.Allocated[c] = max(out.Allocated[c], al.Allocated())
		out.Reserved[c] = max(out.Reserved[c], al.Reserved())
		if e := t.Events[i]; e.Kind == stream.Mark && (len(out.Starts) == 0 || out.Starts[len(out.Starts)-1].Phase != e.ID) {
			out.Starts = append(out.Starts, PhaseStart{e.ID, c})
		}
	}})
	if p := a.Play.PeakAllocatedAt; p >= from && p < to {
		out.Peak = column(p)
	}
	return out, err
}

// stepAround is the events of the step that holds one, or of the last step.
func (a *Answer) stepAround(at int) (from, to int) {
	events := a.run.trace.Events
	last := uint32(simulate.Load)
	for i := range events {
		e := &events[i]
		if e.Kind != stream.Mark || e.ID == last {
			continue
		}
		if e.ID == simulate.Forward && (last == simulate.Load || last == simulate.Optimizer) {
			if from > 0 && at >= from && at < i {
				return from, i
			}
			from = i
		}
		last = e.ID
	}
	return from, len(events)
}
