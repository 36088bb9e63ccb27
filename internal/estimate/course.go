// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/allocator"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// Course contains the peaks of a run's parts in order, as a monitor of the real run would see them.
type Course struct {
	Load       Peaks   // while the model is loaded; zero for a recording, which begins after that
	Steps      []Peaks // of each simulated optimizer step; later steps are like the last one
	Held       uint64  // bytes in tensors after the last optimizer step
	Evaluation Peaks   // of forward passes without gradients; zero if the run has none
	AfterEval  Peaks   // of steps after an evaluation; zero if the run has none
	Even       bool    // all batches have the same size
}

// Course plays the run again and returns the peaks of its parts. Recordings, which do not show where steps begin, and runs
// with very long loops get one step, with the peaks of the whole run.
func (a *Answer) Course() (Course, error) {
	c := Course{Even: a.Setup.Lengths == nil}
	if a.Run == nil || a.hasLoops() && a.run.loops.Len() > fewUnfolded {
		c.Steps = []Peaks{{a.PeakAllocated, a.PeakReserved}}
		return c, nil
	}
	o := playing{stop: a.stopped}
	whole, err := a.run.unfolded(a.Setup, &o)
	if err != nil {
		return c, err
	}
	watch := course{Course: c, events: whole.trace.Events, phase: simulate.Load}
	o.observe = watch.note
	v, opt, err := settingsOf(a.Setup)
	if err != nil {
		return c, err
	}
	al, err := whole.allocator(v, opt, a.shown(), a.shownLimit())
	if err != nil {
		return c, err
	}
	if _, err := whole.playEach(al, o); err != nil {
		return c, err
	}
	watch.close()
	return watch.Course, nil
}

// course is a Course that is being recorded.
type course struct {
	Course
	events    []stream.Event
	phase     uint32
	now       Peaks // of the current part
	evaluated bool
}

// note records the memory after an event. A step ends where the phase after the optimizer begins.
func (c *course) note(i int, al *allocator.Allocator) {
	if e := &c.events[i]; e.Kind == stream.Mark && e.ID != c.phase {
		if c.phase == simulate.Load || c.phase == simulate.Optimizer || c.phase == simulate.Evaluation || e.ID == simulate.Evaluation {
			c.close()
		}
		c.phase = e.ID
	}
	if c.phase == simulate.Optimizer {
		c.Held = al.Allocated()
	}
	c.now.Allocated, c.now.Reserved = max(c.now.Allocated, al.Allocated()), max(c.now.Reserved, al.Reserved())
}

// close ends a part.
func (c *course) close() {
	switch c.phase {
	case simulate.Load:
		c.Load = c.now
	case simulate.Evaluation:
		c.Evaluation = Peaks{max(c.Evaluation.Allocated, c.now.Allocated), max(c.Evaluation.Reserved, c.now.Reserved)}
		c.evaluated = true
	default:
		if c.evaluated {
			c.AfterEval = Peaks{max(c.AfterEval.Allocated, c.now.Allocated), max(c.AfterEval.Reserved, c.now.Reserved)}
		} else {
			c.Steps = append(c.Steps, c.now)
		}
	}
	c.now = Peaks{}
}
