// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/loops"
	"snug/internal/setup"
	"snug/internal/stream"
)

// run is a stream that can be played. A simulated run is only a trace. A recorded run may start with memory already
// allocated, and keep memory that was not recorded.
type run struct {
	trace  *stream.Trace
	loops  *stream.Folded // the trace, if it has folded loops
	again  bool           // the run is played more than once, but never concurrently
	player *loops.Player  // the player that knows the loops; set if again is
	whole  *run           // the same run unfolded, if needed and again is set
	start  []allocator.SegmentState
	kept   uint64 // bytes kept in addition to the trace, from beginning to end
}

// playing holds the options of a play.
type playing struct {
	phases  []uint64                             // receives the highest allocated bytes in each phase
	brief   bool                                 // skip repetitions that change nothing
	until   int                                  // stop before this event; 0 means play to the end
	since   int                                  // the event from which retries are counted
	settled int                                  // with folded loops, stop before this event if memory has not run out by then; 0 means never
	chart   *loops.Chart                         // filled in if set
	most    uint64                               // size above which a run with loops need not be simulated exactly; 0 means no limit
	work    int                                  // limit on the work for a run with loops
	spent   int                                  // work already done
	observe func(i int, al *allocator.Allocator) // called after every event of a run without folded loops; may be nil
	stop    func() error                         // called from time to time, except within loops; its error ends the play; may be nil
}

// played is the result of playing a run.
type played struct {
	allocator.Result
	requested uint64 // the most bytes requested at once
	retries   uint64
	flushed   bool // memory ran out and the cache was flushed
	work      int  // cost of the play, in events
}

// play plays a run on a card, within a limit; 0 means no limit.
func (r *run) play(s *setup.Setup, card gpu.Card, limit uint64, o playing) (played, error) {
	v, opt, err := settingsOf(s)
	if err != nil {
		return played{}, err
	}
	if r.loops != nil && loops.Suits(v, opt) {
		return r.playLoops(s, v, card, limit, o)
	}
	whole, err := r.unfolded(s, &o)
	if err != nil {
		return played{}, err
	}
	al, err := whole.allocator(v, opt, card, limit)
	if err != nil {
		return played{}, err
	}
	return whole.playEach(al, o)
}

// allocator returns an allocator like that of the setup's process.
func (r *run) allocator(v allocator.Version, opt allocator.Options, card gpu.Card, limit uint64) (*allocator.Allocator, error) {
	total := totalOf(card)
	al, err := allocator.New(allocator.NewDriver(total, card.Outside), v, opt)
	if err == nil && limit > 0 && limit < total {
		err = al.SetMemoryFraction(float64(limit) / float64(total))
	}
	if err == nil {
		err = al.Restore(r.start)
	}
	return al, err
}

func totalOf(card gpu.Card) uint64 {
	if card.Total == 0 {
		return endless
	}
	return card.Total
}

// settingsOf returns the allocator's version and options. A profile has its own.
func settingsOf(s *setup.Setup) (allocator.Version, allocator.Options, error) {
	torch := s.Versions.Torch
	if torch == "" {
		torch = setup.NewestTorch
	}
	v, err := allocator.ParseVersion(torch)
	if err != nil {
		return v, allocator.Options{}, err
	}
	if p := Profile(s); p != nil && s.Allocator == "" {
		return v, p.Options, nil
	}
	opt, err := allocator.ParseOptions(s.Allocator, v)
	return v, opt, err
}

// playEach plays every event, after allocating the kept memory.
func (r *run) playEach(al *allocator.Allocator, o playing) (out played, err error) {
	if oom, err := r.keep(al); oom != nil || err != nil {
		out.Result = allocator.Result{PeakAllocatedAt: -1, PeakReservedAt: -1, OOM: oom}
		return out, err
	}
	before, counts := uint64(0), false
	how := allocator.PlayOptions{Phases: o.phases, PassCopies: o.brief, Stop: o.stop}
	if o.since > 0 || o.chart != nil || o.observe != nil {
		how.Observe = func(i int) {
			if o.observe != nil {
				o.observe(i, al)
			}
			if i == o.since {
				before, counts = al.Stats().AllocRetries, true
			}
			if o.chart != nil {
				o.chart.Note(i, al.Allocated(), al.Reserved())
			}
		}
	}
	out.Result, err = al.Play(r.first(o.until), how)
	out.requested, out.work = al.Stats().RequestedBytes.All.Peak, out.Events
	out.flushed = al.Stats().AllocRetries > 0
	if counts || o.since == 0 {
		out.retries = al.Stats().AllocRetries - before
	}
	return out, err
}

// keep allocates the memory kept in addition to the trace.
func (r *run) keep(al *allocator.Allocator) (*allocator.OutOfMemoryError, error) {
	if r.kept == 0 {
		return nil, nil
	}
	_, err := al.Alloc(r.kept, 0)
	var oom *allocator.OutOfMemoryError
	if errors.As(err, &oom) {
		return oom, nil
	}
	return nil, err
}

// first returns the trace up to an event; 0 means all of it.
func (r *run) first(events int) *stream.Trace {
	if events == 0 {
		return r.trace
	}
	short := *r.trace
	short.Events = short.Events[:events]
	return &short
}
