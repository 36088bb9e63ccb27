// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"snug/internal/cost"
	"snug/internal/gpu"
	"snug/internal/loops"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// Probe is a run that was simulated once. A search compares it with any number of limits and computes its time on any
// number of cards. It has three steps, the first with one micro-batch and the others with at most two, after which
// memory has usually settled. Estimate verifies the result of the search.
type Probe struct {
	Setup         *setup.Setup // the run that was tried
	PeakRequested uint64       // the most bytes that tensors request at once, or a lower bound; no allocator options need less
	Floor         uint64       // lower bound of the bytes in tensors at any batch, length and checkpointing; 0 if unknown
	Weights       uint64       // the part of Floor that is weights, as loaded

	requested func() uint64 // computes PeakRequested more closely for a recording; nil if it is exact

	run    func() (*run, error) // generated when first played
	last   int                  // the first event of the last step; -1 for a recording
	events int
	loops  int        // number of events with all loops unfolded; 0 without loops
	tape   *cost.Tape // nil if the run was recorded

	largest uint64     // size of the largest card in the search; 0 means no limit
	playing sync.Mutex // locked while the peaks are being computed
	peaks   Peaks
	known   bool   // the peaks are known
	over    uint64 // the run is known to reserve more bytes than this

	mu    sync.Mutex
	under map[string]uint64 // bytes reserved, by options
	more  map[[2]int]uint64 // how much more a recorded run may reserve, by kind of card

	within    map[atLimit]Verdict // whether the run fits, by limit and options
	uncertain func() uint64       // returns how much more a simulated run may reserve because of unknowns
}

// The number of steps, and of micro-batches per step, that a probe runs.
const (
	probeSteps  = 3
	probeVaried = 16 // if lengths vary: the first steps, and the one with the longest batch
	probeMicros = 2
)

// shortened returns the part of a run that a probe simulates.
func shortened(s *setup.Setup) setup.Setup {
	short := *s
	short.Steps, short.Accumulation = probeSteps, min(max(s.Accumulation, 1), probeMicros)
	if s.Lengths != nil {
		tokens := setup.Sampled(s.Tokens(), probeVaried, probeMicros)
		short.Lengths, short.Steps = s.Lengths.Fixed(tokens), len(tokens)
	}
	return short
}

// timeUsual computes the time of a step whose batches have the average length.
func (p *Probe) timeUsual(short *setup.Setup, how simulate.Options) error {
	flat := *short
	flat.Lengths, flat.Steps, flat.Seq = nil, probeSteps, usualLength(short.Tokens())
	result, err := simulate.Run(&flat, how)
	if err != nil {
		return limitError(&flat, 0, err)
	}
	result.World.DiscardTags()
	result.World.DiscardTrace()
	return nil
}

// usualLength returns the average length of a batch.
func usualLength(tokens [][]int) int {
	all := slices.Concat(tokens...)
	sum := 0
	for _, n := range all {
		sum += n
	}
	return max(sum/max(len(all), 1), 1)
}

// NewProbe simulates a setup on the card's kind.
func NewProbe(s *setup.Setup, card gpu.Card) (*Probe, error) {
	return NewProbeUpTo(context.Background(), s, card, 0)
}

// NewProbeUpTo is NewProbe for a search over cards of at most largest bytes; 0 means no limit. A run with loops is
// played when it is first needed, and not to its end if it is far too large. The context cancels the simulation.
func NewProbeUpTo(ctx context.Context, s *setup.Setup, card gpu.Card, largest uint64) (p *Probe, err error) {
	if s.Model.Program != nil {
		return recordedProbe(s)
	}
	short := shortened(s)
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("simulating %s failed; this is a bug in snug: %v", s.Model.Title(), r)
		}
	}()
	p = &Probe{Setup: s, tape: cost.NewTape(), largest: largest}
	how := simulate.Options{Card: card, Watch: p.tape, Brief: true, Folds: true, MaxEvents: eventsOf(&short), Stop: ctx.Err}
	if s.Lengths != nil {
		if err := p.timeUsual(&short, how); err != nil {
			return nil, err
		}
		how.Watch = nil
	}
	result, err := simulate.Run(&short, how)
	if err != nil {
		return nil, limitError(s, 0, err)
	}
	p.tape.Finish()
	made := runOf(result, false)
	p.Floor, p.Weights = floors(made.trace, result.World.Tags)
	result.World.DiscardTags()
	p.uncertain = sync.OnceValue(p.uncertaintyOf(&short, card, result))
	p.run, p.events, p.last = func() (*run, error) { return made, nil }, len(made.trace.Events), lastStep(made.trace)
	if simulate.Follows(s) || s.Lengths != nil || s.Evaluation != nil {
		p.last = -1 // the steps differ, so no step represents the others
	}
	if made.loops != nil {
		p.loops = made.loops.Len()
	}
	if v, opt, err := settingsOf(s); err == nil && made.loops != nil && loops.Suits(v, opt) {
		p.PeakRequested = made.loops.PeakRequested(max(p.last, 0)) // the exact value is computed on demand
	} else if _, err := p.Peaks(); err != nil {
		return nil, err
	}
	if len(made.trace.Events) > maxKept || largest > 0 && p.known && p.PeakRequested > largest {
		p.run = func() (*run, error) { return streamOf(&short, simulate.Options{Card: card, Brief: true, Folds: true}) }
		result.World.DiscardTrace()
	}
	return p, nil
}

// maxKept is the length of the longest stream that a probe keeps. A search has dozens of probes, so longer streams
// are generated again when needed. Streams that fit no card are rarely needed again.
const maxKept = 1 << 19

func streamOf(s *setup.Setup, o simulate.Options) (*run, error) {
	o.MaxEvents = eventsOf(s)
	result, err := simulate.Run(s, o)
	if err != nil {
		return nil, limitError(s, 0, err)
	}
	return runOf(result, false), nil
}

// runOf returns the stream of a simulated run.
func runOf(r *simulate.Result, again bool) *run {
	return &run{trace: r.World.Trace, loops: r.Loops, again: again}
}

// Events returns the length of the stream, a measure of the cost of a simulation.
func (p *Probe) Events() int {
	if p.tape == nil { // recorded; generated on demand
		if r, err := p.run(); err == nil {
			return len(r.trace.Events)
		}
	}
	return p.events
}

// Seconds returns the duration of a step with this many micro-batches on a card. For a recorded run it is the time on
// the card where it was recorded; 0 if it was not timed.
func (p *Probe) Seconds(card gpu.Card, accumulation int) float64 {
	if p.tape == nil {
		micro, _ := Profile(p.Setup).Seconds(p.Setup.At())
		return micro * float64(accumulation)
	}
	rates, known := cost.RatesOf(card)
	if !known {
		rates, _ = cost.RatesOf(gpu.Reference)
	}
	return p.tape.Seconds(rates, accumulation)
}

// Exceeds reports whether tensors alone take more than limit bytes at once, so that no allocator options help.
func (p *Probe) Exceeds(limit uint64) bool {
	if p.PeakRequested > limit {
		return true
	}
	return p.requested != nil && p.peaks.Allocated > limit && p.requested() > limit
}

// play plays the stream with some options and a limit; 0 means no limit.
func (p *Probe) play(conf string, limit, most uint64) (played, error) {
	return p.playTo(conf, limit, playing{most: most})
}

// playTo is play with further options.
func (p *Probe) playTo(conf string, limit uint64, o playing) (got played, err error) {
	s := *p.Setup
	s.Allocator = conf
	r, err := p.run()
	if err != nil {
		return got, err
	}
	o.work = maxTried
	switch {
	case p.last < 0:
	case limit == 0: // the last step equals the one before
		o.until = p.last
	default:
		o.brief, o.since = true, p.last
	}
	return r.play(&s, gpu.Card{}, limit, o)
}

// lastStep returns the event at which the last step's first forward begins.
func lastStep(t *stream.Trace) int {
	at, phase := 0, uint32(simulate.Load)
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == stream.Mark {
			if e.ID == simulate.Forward && phase == simulate.Optimizer {
				at = i
			}
			phase = e.ID
		}
	}
	return at
}
