// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"errors"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/loops"
	"snug/internal/setup"
)

// A model that goes token by token has loops, which stay folded. Package loops
// plays them as they are. Under options that it does not know they are written out
// and played event by event, which is for short ones.

// How far runs with loops are simulated: in a second or two, and some hundred
// megabytes.
const (
	mostWork     = 24_000_000 // events and segments that are looked at
	mostAtLimit  = 8_000_000  // the same where a search asks whether a run fits
	mostSegments = 1_200_000
	mostUnfolded = 12_000_000 // events that are played one by one
	mostTried    = 2_000_000  // the same in a search, which plays dozens of runs
)

// workCosts is how many events could be played in the time of a unit of that work.
const workCosts = 2

// Beyond is that a run is longer or larger than what is simulated.
type Beyond struct{ error }

// Unwrap is the error with its field.
func (b Beyond) Unwrap() error { return b.error }

// playLoops plays a run whose loops are folded.
func (r *run) playLoops(s *setup.Setup, v allocator.Version, card gpu.Card, limit uint64, o playing) (out played, err error) {
	p := r.player
	if p == nil {
		if p, err = loops.New(v, r.loops); err != nil {
			return out, beyond(s, err)
		}
	}
	if r.again {
		r.player = p
	}
	total := totalOf(card)
	how := loops.Options{
		Phases: o.phases, PassCopies: o.brief, Until: o.until, Since: o.since, Chart: o.chart,
		Most: cmp.Or(o.work, mostWork), MostSegments: mostSegments, MostBytes: o.most,
	}
	if limit > 0 && limit < total {
		how.Limit = uint64(float64(limit) / float64(total) * float64(total))
	}
	out.Result, err = p.Play(allocator.NewDriver(total, card.Outside), how)
	out.requested, out.retries, out.work = p.PeakRequested(), p.Retries(), workCosts*p.Work()
	return out, beyond(s, err)
}

// beyond says which field makes a run too long or too large, and what to do.
func beyond(s *setup.Setup, err error) error {
	const what = "a model that goes token by token"
	switch {
	case errors.Is(err, loops.ErrTooLarge):
		return Beyond{setup.Wrong("{seq} %d with {batch} %d: %s is simulated up to some TiB of memory, and this run takes more; shorten {seq}, lower {batch} or turn {checkpointing} on", s.Seq, s.Batch, what)}
	case errors.Is(err, loops.ErrTooLong):
		return Beyond{setup.Wrong("{seq} %d is too long: %s is simulated for as long as that takes a second or two; shorten {seq}", s.Seq, what)}
	}
	return err
}

// unfolded is the run with its loops written out. The events that the options
// name are then others.
func (r *run) unfolded(s *setup.Setup, o *playing) (*run, error) {
	if r.loops == nil {
		return r, nil
	}
	if r.loops.Len() > mostUnfolded {
		return nil, tooLong(s)
	}
	o.until, o.since = r.loops.At(o.until), r.loops.At(o.since)
	whole, _ := r.loops.Unfold()
	return &run{trace: whole}, nil
}

// tooLong is that a run can only be played event by event and has too many.
func tooLong(s *setup.Setup) error {
	if s.Allocator != "" {
		return Beyond{setup.Wrong("{seq} %d with {allocator} %s: under such options a model that goes token by token is simulated for shorter {seq}; shorten it, or leave {allocator} out", s.Seq, s.Allocator)}
	}
	return Beyond{setup.Wrong("{seq} %d with {versions.torch} %s: for that version a model that goes token by token is simulated for shorter {seq}; shorten it, or take 2.11", s.Seq, s.Versions.Torch)}
}

// Plays tells whether a search may ask what the run takes under other options of
// the allocator. Where its loops would have to be written out for that, and are
// long, they are not tried.
func (p *Probe) Plays(conf string) bool {
	s := *p.Setup
	s.Allocator = conf
	v, opt, err := settingsOf(&s)
	return err != nil || p.loops <= mostTried || loops.Suits(v, opt)
}
