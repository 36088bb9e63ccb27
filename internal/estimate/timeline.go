// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/loops"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// Timeline is one optimizer step over time, in columns with the same number of events.
type Timeline struct {
	Allocated []uint64     // the highest value in each column
	Reserved  []uint64     // the highest value in each column
	Starts    []PhaseStart // where phases begin
	Peak      int          // the column of the peak; -1 if it is not in this step
}

// PhaseStart is the beginning of a phase of the step.
type PhaseStart struct {
	Phase  uint32 // simulate.Forward, …
	Column int    // the column in which the phase begins
}

// Events returns the length of the stream, a measure of the cost of playing it.
func (a *Answer) Events() int { return max(len(a.run.trace.Events), a.work) }

// Timeline samples the step with the peak, or the last one. A recording does not show where steps begin, so all of it
// is sampled. The result is empty if the run is too long to be played again.
func (a *Answer) Timeline(columns int) (Timeline, error) {
	if a.hasLoops() && a.work > maxDrawn {
		return Timeline{Peak: -1}, nil
	}
	from, to := a.stepAround(a.Play.PeakAllocatedAt)
	chart := &loops.Chart{From: a.run.at(from), To: a.run.at(to)}
	columns = min(columns, chart.To-chart.From)
	chart.Allocated, chart.Reserved = make([]uint64, columns), make([]uint64, columns)
	out := Timeline{Allocated: chart.Allocated, Reserved: chart.Reserved, Peak: -1}
	if _, err := a.run.play(a.Setup, a.shown(), a.shownLimit(), playing{chart: chart, until: to, work: maxWork}); err != nil {
		return out, err
	}
	for i, e := range a.run.trace.Events[from:to] {
		if e.Kind == stream.Mark && (len(out.Starts) == 0 || out.Starts[len(out.Starts)-1].Phase != e.ID) {
			out.Starts = append(out.Starts, PhaseStart{e.ID, chart.Column(a.run.at(from + i))})
		}
	}
	if p := a.Play.PeakAllocatedAt; p >= chart.From && p < chart.To {
		out.Peak = chart.Column(p)
	}
	return out, nil
}

func (a *Answer) hasLoops() bool { return a.run.loops != nil }

// at returns the position of a trace event after loops are unfolded.
func (r *run) at(i int) int {
	if r.loops == nil {
		return i
	}
	return r.loops.At(i)
}

// stepAround returns the events of the step that contains an event of the unfolded trace, or of the last step.
func (a *Answer) stepAround(at int) (from, to int) {
	events := a.run.trace.Events
	last := uint32(simulate.Load)
	for i := range events {
		e := &events[i]
		if e.Kind != stream.Mark || e.ID == last {
			continue
		}
		if e.ID == simulate.Forward && (last == simulate.Load || last == simulate.Optimizer) {
			if from > 0 && at >= a.run.at(from) && at < a.run.at(i) {
				return from, i
			}
			from = i
		}
		last = e.ID
	}
	return from, len(events)
}
