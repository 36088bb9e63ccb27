// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"errors"
	"fmt"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/loops"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// A model that runs token by token has loops, which stay folded. Package loops plays them folded. With options that
// the package does not support, loops are unfolded and played event by event, which works only for short loops.

// Limits of the simulation. They are counts, not times, so that a run is refused on every machine or on none. An
// answer takes at most half a second and 200 MB, a search a few seconds.
const (
	maxEvents   = 1_000_000  // events in a run, with its loops folded
	maxVaried   = 2_000_000  // events if lengths vary, so that every step is different, or with images
	maxWork     = 4_000_000  // steps of package loops per answer
	maxTried    = 12_000_000 // steps of package loops per try in a search
	maxDrawn    = 2_500_000  // largest amount of work in an answer for which a timeline is still computed
	maxSegments = 250_000    // segments alive at the same time
	maxBytes    = 8 << 40    // reserved bytes
	maxUnfolded = 3_300_000  // events of unfolded loops
	fewUnfolded = 1_000_000  // events of unfolded loops in a search, which plays dozens of runs
)

// eventsOf returns the maximum number of events in a run.
func eventsOf(s *setup.Setup) int {
	if s.Lengths != nil || s.Images > 0 { // a vision tower with windows runs hundreds of small attentions in each block
		return maxVaried
	}
	return maxEvents
}

// farTooLarge is the multiple of the largest card's memory at which playing a run in a search stops, because its
// exact figures no longer matter.
const farTooLarge = 4

// LimitError means that a run is longer or larger than can be simulated.
type LimitError struct{ error }

// Unwrap returns the error that names the field.
func (b LimitError) Unwrap() error { return b.error }

// playLoops plays a run whose loops are folded.
func (r *run) playLoops(s *setup.Setup, v allocator.Version, card gpu.Card, limit uint64, o playing) (out played, err error) {
	p := r.player
	if p == nil {
		if p, err = loops.New(v, r.loops); err != nil {
			return out, limitError(s, o.work, err)
		}
	}
	if r.again {
		r.player = p
	}
	total := totalOf(card)
	how := loops.Options{
		Phases: o.phases, PassCopies: o.brief, Until: o.until, Settled: o.settled, Since: o.since, Chart: o.chart,
		Most: o.left(), MaxSegments: maxSegments, MaxBytes: cmp.Or(o.most, maxBytes),
	}
	if limit > 0 && limit < total {
		how.Limit = uint64(float64(limit) / float64(total) * float64(total))
	}
	out.Result, err = p.Play(allocator.NewDriver(total, card.Outside), how)
	out.requested, out.retries, out.work = p.PeakRequested(), p.Retries(), p.Work()
	out.flushed = p.Flushed()
	return out, limitError(s, o.work, err)
}

// left returns the work that remains for a play; at least one step.
func (o *playing) left() int { return max(o.work-o.spent, 1) }

// limitError returns an error that names the field that makes a run too long or too large, the limit, and what to do.
func limitError(s *setup.Setup, work int, err error) error {
	switch {
	case errors.Is(err, simulate.ErrTooLong) && s.Lengths != nil:
		return LimitError{setup.Wrong("{lengths} with {steps} %d: this run has more than %s allocations and frees, the limit of the simulation; lower {steps}", s.Steps, millions(maxVaried))}
	case errors.Is(err, simulate.ErrTooLong) && s.Script.Readable() && s.Script.Name != "": // the run has no file that could be changed or recorded
		return LimitError{setup.Wrong("{loop} %s: with this model it has more than %s allocations and frees, the limit of the simulation; measure the run: snug profile -- <your command>", s.Loop, millions(eventsOf(s)))}
	case errors.Is(err, simulate.ErrTooLong) && s.Script.Readable():
		return LimitError{setup.Wrong("{loop} %s: it has more than %s allocations and frees, the limit of the simulation; let it run fewer steps or layers, or record it: snug profile -- python3 %s", s.Loop, millions(eventsOf(s)), s.Loop)}
	case errors.Is(err, simulate.ErrTooLong):
		return LimitError{setup.Wrong("{seq} %d with {batch} %d: this run has more than %s allocations and frees, the limit of the simulation, because kernels split its very large tensors; shorten {seq} or lower {batch}", s.Seq, s.Batch, millions(eventsOf(s)))}
	case errors.Is(err, loops.ErrTooLarge):
		return LimitError{setup.Wrong("{seq} %d with {batch} %d: this run takes more than 8 TiB, the limit for a model that runs token by token; shorten {seq}, lower {batch} or turn {checkpointing} on", s.Seq, s.Batch)}
	case errors.Is(err, loops.ErrTooLong):
		return LimitError{setup.Wrong("{seq} %d is too long for %s: it runs token by token, which is simulated up to %s allocator steps and %d memory segments; shorten {seq}", s.Seq, s.Model.Title(), millions(work), maxSegments)}
	}
	return err
}

// millions formats a limit.
func millions(n int) string { return fmt.Sprintf("%.1f million", float64(n)/1e6) }

// unfolded returns the run with its loops unfolded. Event numbers in the options are adjusted.
func (r *run) unfolded(s *setup.Setup, o *playing) (*run, error) {
	if r.loops == nil {
		return r, nil
	}
	if r.loops.Len() > maxUnfolded {
		return nil, r.tooLong(s)
	}
	o.until, o.since = r.loops.At(o.until), r.loops.At(o.since)
	if r.whole != nil {
		return r.whole, nil
	}
	trace, _ := r.loops.Unfold()
	whole := &run{trace: trace}
	if r.again {
		r.whole = whole
	}
	return whole, nil
}

// tooLong returns the error for a run that can only be played event by event and has too many events.
func (r *run) tooLong(s *setup.Setup) error {
	straight := len(r.loops.Trace.Events)
	up := s.Seq * max(maxUnfolded-straight, 0) / max(r.loops.Len()-straight, 1)
	const what = "a model that runs token by token is simulated up to " // the limit follows
	if s.Allocator != "" {
		return LimitError{setup.Wrong("{seq} %d with {allocator} %s: with these options "+what+"%s allocations and frees, which this run reaches at {seq} %d; shorten it, or omit {allocator}", s.Seq, s.Allocator, millions(maxUnfolded), up)}
	}
	return LimitError{setup.Wrong("{seq} %d with {versions.torch} %s: with that version "+what+"%s allocations and frees, which this run reaches at {seq} %d; shorten it, or use PyTorch 2.11", s.Seq, s.Versions.Torch, millions(maxUnfolded), up)}
}

// Plays reports whether a search may play the run with other allocator options. It may not if those options require
// long loops to be unfolded.
func (p *Probe) Plays(conf string) bool {
	s := *p.Setup
	s.Allocator = conf
	v, opt, err := settingsOf(&s)
	return err != nil || p.loops <= fewUnfolded || loops.Suits(v, opt)
}
