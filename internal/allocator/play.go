// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"fmt"

	"snug/internal/stream"
)

// PlayOptions are the options of a replay. The zero value plays to the end and observes nothing.
type PlayOptions struct {
	// Observe, if set, is called after every event, or every Every-th one, with the event's index. It may read the
	// allocator but must not change it.
	Observe func(index int)
	// Every is the number of events per call of Observe; 0 and 1 mean each event. The last event is always observed.
	Every int
	// Phases receives the highest allocated bytes in each phase, by number. Events before the first Mark belong to
	// phase 0.
	Phases []uint64
	// PassCopies skips repeated parts of the trace that would change nothing. Observe is not called for their events.
	PassCopies bool
	// EventsAtSync completes frees that wait for another stream only when the cache is flushed, instead of at the
	// next allocation. This gives an upper bound.
	EventsAtSync bool
	// Stop, if set, is called from time to time; its error ends the replay.
	Stop func() error
}

// stopEvery is the number of events between calls of Stop. Playing that many takes a few milliseconds.
const stopEvery = 1 << 16

// Result is the outcome of a replay. Indices refer to the trace's events; a peak that existed before the first event
// has index -1.
type Result struct {
	Events          int               // events played, including the one that ran out of memory
	PeakAllocated   uint64            // the most bytes in allocated blocks
	PeakReserved    uint64            // the most bytes reserved on the device
	PeakAllocatedAt int               // the event that first reached PeakAllocated
	PeakReservedAt  int               // the event that first reached PeakReserved
	OOM             *OutOfMemoryError // nil if everything fitted
	OOMAt           int               // the event that did not fit; -1 if all did
}

// Play runs a trace through the allocator. It stops at the first request that does not fit, as training does, and
// sets Result.OOM. An error means that no allocator could have produced the trace; it names the event.
func (a *Allocator) Play(t *stream.Trace, o PlayOptions) (Result, error) {
	p, err := a.newPlayer(t)
	if err != nil {
		return Result{}, err
	}
	p.phases = o.Phases
	if o.EventsAtSync {
		defer a.SetEventsDone(a.pending.done)
		a.SetEventsDone(false)
	}
	skips := stream.Skips[state]{}
	if o.PassCopies {
		skips = a.newSkips(t)
	}
	ask := len(t.Events) // the event at which Stop is called
	if o.Stop != nil {
		ask = 0
	}
	for i, point := 0, skips.Point(); i < len(t.Events); {
		if i >= ask {
			if err := o.Stop(); err != nil {
				return Result{}, err
			}
			ask = i + stopEvery
		}
		if i == point {
			if i, point = skips.Pass(i, a.state()), skips.Point(); i == point || i == len(t.Events) {
				continue
			}
		}
		if err := p.play(i, &t.Events[i]); err != nil {
			return p.outcome(i, err)
		}
		if o.Observe != nil && (o.Every <= 1 || i%o.Every == 0 || i == len(t.Events)-1) {
			o.Observe(i)
		}
		i++
	}
	return p.result(len(t.Events)), nil
}

// player is a replay in progress.
//
// live has the state of every ID in the trace: its block, or one of the marks below. A block that was freed and waits
// for completion is stored as a negative number.
type player struct {
	a       *Allocator
	live    []int32
	streams []uint16 // trace queue → allocator stream
	phases  []uint64
	phase   uint32
	res     Result
}

const (
	notAlive  = 0
	zeroBytes = -1 // alive, without a block
)

func awaiting(b int32) int32 { return -b - 1 } // b ≥ 1, so never zeroBytes

func (a *Allocator) newPlayer(t *stream.Trace) (*player, error) {
	p := &player{a: a, res: Result{PeakAllocatedAt: -1, PeakReservedAt: -1, OOMAt: -1}}
	p.res.PeakAllocated = a.stats.row[rowAll][allocatedBytes].peak
	p.res.PeakReserved = a.stats.row[rowAll][reservedBytes].peak
	if len(t.Queues) > maxOwners {
		return nil, fmt.Errorf("the trace uses %d CUDA streams; at most %d are supported", len(t.Queues), maxOwners)
	}
	for _, handle := range t.Queues {
		p.streams = append(p.streams, a.stream(handle))
	}
	p.live = make([]int32, max(t.Allocations(), t.Initial))
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.size == 0 || b.idle() || b.owner == NoID {
			continue
		}
		if b.owner >= t.Initial || p.live[b.owner] != notAlive {
			return nil, fmt.Errorf("restored block at %#x has ID %d, which is not among the %d that the trace starts with, or belongs to another block",
				b.addr, b.owner, t.Initial)
		}
		p.live[b.owner] = int32(i)
		if b.flags&flagHeld != 0 {
			p.live[b.owner] = awaiting(int32(i))
		}
	}
	return p, nil
}

func (p *player) play(i int, e *stream.Event) error {
	switch e.Kind {
	case stream.Alloc:
		return p.alloc(i, e)
	case stream.Free:
		return p.free(e.ID)
	case stream.FreeRequested:
		return p.freeRequested(e.ID)
	case stream.FreeCompleted:
		return p.freeCompleted(e.ID)
	case stream.RecordStream:
		return p.recordStream(e)
	case stream.EmptyCache:
		return p.a.EmptyCache()
	case stream.Mark:
		p.phase = e.ID
		p.notePhase()
		return nil
	default:
		return fmt.Errorf("unknown event kind %d", uint8(e.Kind))
	}
}

// outcome distinguishes a full card, which is a result, from an invalid trace.
func (p *player) outcome(i int, err error) (Result, error) {
	var oom *OutOfMemoryError
	if errors.As(err, &oom) {
		p.res.OOM, p.res.OOMAt = oom, i
		return p.result(i + 1), nil
	}
	return p.result(i), fmt.Errorf("event %d: %w", i, err)
}

// result completes the Result. The peak includes memory mapped for a request that failed in the end.
func (p *player) result(events int) Result {
	p.res.Events = events
	p.notePeaks(events - 1)
	return p.res
}

// notePhase updates the peak of the current phase.
func (p *player) notePhase() {
	if int(p.phase) < len(p.phases) {
		p.phases[p.phase] = max(p.phases[p.phase], p.a.Allocated())
	}
}

func (p *player) notePeaks(i int) {
	all := &p.a.stats.row[rowAll]
	if peak := all[allocatedBytes].peak; peak > p.res.PeakAllocated {
		p.res.PeakAllocated, p.res.PeakAllocatedAt = peak, i
	}
	if peak := all[reservedBytes].peak; peak > p.res.PeakReserved {
		p.res.PeakReserved, p.res.PeakReservedAt = peak, i
	}
}
