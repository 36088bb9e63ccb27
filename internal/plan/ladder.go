// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"runtime"

	"snug/internal/units"
)

// rungs lists the ladder: how much of the card each rung may use, and its risk. Only the last one uses the
// whole card, relying on the simulation. The recommendation's own share is Goal.share in plan.go; margin and reserve
// are applied in room.go.
var rungs = []struct {
	name    string
	share   float64
	careful bool
	risk    string
	counted string // the risk if an evaluation is part of the run and simulated
}{
	{"safe", 0.7, true, "leaves room for evaluation, longer samples and other processes", "includes the evaluation; leaves room for longer samples and other processes"},
	{"medium", 0.8, true, "leaves room for evaluation at the same batch", "includes the evaluation; leaves room for other processes"},
	{"aggressive", 0.9, true, "anything else on the card may make the run fail", "includes the evaluation; anything else on the card may make the run fail"},
	{"maximum", 1, false, "fits in the simulation, without a margin; anything unexpected may make the run fail", "fits in the simulation with the evaluation, without a margin; anything unexpected may make the run fail"},
}

// ladder returns the fastest settings within growing shares of the card.
func (s *search) ladder() ([]Rung, error) {
	out := make([]Rung, len(rungs))
	err := each(len(rungs), func(i int) error {
		r := rungs[i]
		within := room{share: r.share, careful: r.careful}
		c, err := s.fastest(s.set, within)
		if c != nil && err == nil {
			c, err = s.rounder(c, s.set, within)
		}
		out[i] = Rung{r.name, r.share, c, r.risk}
		if s.base.Evaluation != nil {
			out[i].Risk = r.counted
		}
		switch {
		case c == nil:
			out[i].Risk = "nothing fits at this rung"
		case i > 1 && s.inside(c, room{share: rungs[i-1].share}): // it fits the rung before too, but not with the margin for errors
			out[i].Risk = fmt.Sprintf("may take up to %v, if the estimate is off by as much as the worst one measured", units.Bytes(c.Estimate.Interval[1]+c.Estimate.Outside))
		}
		return err
	})
	return out, err
}

// probeAhead simulates the runs that every search will need while processors are idle.
func (s *search) probeAhead() {
	top := s.batches[len(s.batches)-1]
	middle := s.batches[(len(s.batches)-1)/2]
	go func() {
		_, _ = s.probe(s.today, s.kind)
	}()
	for _, v := range s.variants() {
		go func() {
			for _, batch := range []int{top, middle} {
				if !s.hopeless(v, room{share: 1}) {
					_, _ = s.probe(s.split(v, batch), s.kind) // the caller that needs the result gets the error
				}
			}
		}()
	}
}

// playAhead plays runs ahead of the search if playing them takes a long time. The search goes through the variants
// in order, so a second processor starts at the other end and then continues with the ladder. Both cache their
// results, which do not depend on each other. playAhead returns soon after done is closed.
func (s *search) playAhead(done <-chan struct{}) {
	if runtime.GOMAXPROCS(0) < 2 {
		return
	}
	variants := s.variants()
	isDone := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	go func() {
		first := room{share: s.req.Goal.share(), careful: true}
		for i := len(variants) - 1; i > 0 && !isDone(); i-- {
			_, _ = s.within(variants[i], first, 0) // the caller that needs the result gets the error
		}
		for _, r := range rungs {
			if isDone() {
				return
			}
			if c, err := s.best(variants, room{share: r.share, careful: r.careful}); c != nil && err == nil {
				_, _ = s.choice(c.settings)
			}
		}
	}()
}
