// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"errors"
	"fmt"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// Options configures a play. The zero value plays to the end and records nothing extra. Event indices refer to
// the folded trace.
type Options struct {
	// Limit is torch.cuda.set_per_process_memory_fraction in bytes, 0 for none.
	Limit uint64
	// Most limits the work of a play; 0 means no limit. A played event costs 1, a recorded one 2, and a segment
	// that a shortcut touches or a flush returns costs 1. So the limit does not depend on the machine.
	Most int
	// MaxSegments limits the number of segments that exist at once, which bounds memory; 0 means no limit.
	MaxSegments int
	// MaxBytes limits the reserved bytes; 0 means no limit. Unlike running out of memory, reaching it ends
	// the play with an error.
	MaxBytes uint64
	// Phases receives the peak of allocated bytes in each phase, by phase number. Events before the first Mark
	// belong to phase 0.
	Phases []uint64
	// PassCopies skips repeated parts that would change nothing.
	PassCopies bool
	// Until is the event before which the play stops; 0 means that it plays to the end.
	Until int
	// Settled is the event before which the play stops if memory has not run out by then; 0 means that it does not
	// stop.
	Settled int
	// Since is the event from which retries are counted.
	Since int
	// Chart is filled in, if it is set.
	Chart *Chart
}

// Errors for plays beyond the limits in Options.
var (
	ErrTooLong  = errors.New("the loops of this run are too long to simulate")           // exceeds Options.Most or MaxSegments
	ErrTooLarge = errors.New("a run with loops needs more memory than can be simulated") // exceeds Options.MaxBytes
)

// looksCost is the number of segments or addresses that the driver examines per unit of work.
const looksCost = 16

// Play plays the stream in a new process. It stops at the first request that does not fit, as training does, and
// records that in the Result. Event indices in the Result refer to the unfolded trace.
func (p *Player) Play(dev *allocator.Driver, o Options) (allocator.Result, error) {
	p.begin(dev, o.Limit)
	p.bounds = bounds{o.Most, o.MaxSegments, o.MaxBytes / quantum}
	p.res = allocator.Result{PeakAllocatedAt: -1, PeakReservedAt: -1, OOMAt: -1}
	p.phases, p.chart = o.Phases, o.Chart
	err := p.play(o)
	var oom *allocator.OutOfMemoryError
	switch {
	case errors.As(err, &oom):
		p.res.OOM, p.res.OOMAt, p.res.Events = oom, p.at, p.at+1
	case errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooLarge):
		return p.res, err
	case err != nil:
		return p.res, fmt.Errorf("event %d: %w", p.at, err)
	default:
		p.res.Events = p.stream.At(o.until(p.stream.Trace))
	}
	return p.res, nil
}

// until returns the event before which to stop.
func (o Options) until(t *stream.Trace) int {
	if o.Until > 0 {
		return o.Until
	}
	return len(t.Events)
}

func (p *Player) play(o Options) error {
	f, loops := p.stream, p.stream.Loops()
	until := o.until(f.Trace)
	skips := stream.Skips[state]{}
	if o.PassCopies {
		skips = stream.NewSkips[state](f.Trace)
	}
	for i := 0; i < until; {
		if o.Settled > 0 && i >= o.Settled && !p.Flushed() {
			return nil
		}
		if i == o.Since {
			p.before, p.counts = p.retries, true
		}
		if i == skips.Point() {
			i = skips.Pass(i, p.state())
			continue
		}
		for len(loops) > 0 && loops[0].From < i {
			loops = loops[1:]
		}
		if len(loops) > 0 && loops[0].From == i {
			if err := p.loop(&loops[0]); err != nil {
				return err
			}
			i = loops[0].To
			continue
		}
		p.at = f.At(i)
		if err := p.event(i, 0); err != nil {
			return err
		}
		p.note()
		i++
	}
	return nil
}

// Retries returns how often the cache was flushed because memory ran out, since the event given in
// the options.
func (p *Player) Retries() uint64 {
	if !p.counts { // the play has not reached Options.Since, or skipped it
		return 0
	}
	return p.retries - p.before
}

// Flushed reports whether the cache was flushed because memory ran out.
func (p *Player) Flushed() bool { return p.retries > 0 }

// Work returns the work of the play so far; see [Options].
func (p *Player) Work() int { return p.work + int(p.dev.Looked()/looksCost) }

// PeakRequested returns the peak of requested bytes.
func (p *Player) PeakRequested() uint64 { return p.peakRequested }

// event plays one event of the folded trace; in a loop, for the given copy.
func (p *Player) event(i, copy int) error {
	switch e := &p.stream.Trace.Events[i]; e.Kind {
	case stream.Alloc:
		at, err := p.alloc(e.Size, e.Queue)
		if err == nil {
			p.keep(e.ID, copy, at)
		}
		return err
	case stream.Free:
		at, err := p.whose(i, copy)
		if err == nil {
			p.free(at, p.asked[e.ID])
		}
		return err
	case stream.EmptyCache:
		p.flush()
	case stream.Mark:
		p.phase = e.ID
		p.notePhase(p.allocated)
	default:
		return fmt.Errorf("%v is not supported in streams with loops", e.Kind)
	}
	return nil
}

// keep records where an allocation is.
func (p *Player) keep(id uint32, copy int, at place) {
	if !p.stream.Copied(id) {
		p.single[id] = at
		return
	}
	p.many[id].add(copy, at)
}

// whose returns the place of the block that an event frees.
func (p *Player) whose(i, copy int) (place, error) {
	id, which := p.stream.Freed(i, copy)
	if which < 0 {
		return p.single[id], nil
	}
	return p.copyAt(id, which)
}

// copyAt returns the place of a copy of an allocation.
func (p *Player) copyAt(id uint32, copy int) (place, error) {
	r := p.many[id].find(copy)
	if r == nil {
		return place{}, fmt.Errorf("free of copy %d of allocation %d, which is not alive", copy, id)
	}
	return r.place(copy), nil
}
