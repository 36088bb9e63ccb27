// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"snug/internal/allocator"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// If lengths vary, the peak is a matter of luck: which lengths come, in which order, and for how many steps. So the
// run is simulated in several orders, and the interval holds all of their peaks.

// Varying is what is known about a run of varying lengths besides its figures.
type Varying struct {
	Steps    int         `json:"steps"`            // optimizer steps that were simulated
	Longest  int         `json:"longest"`          // tokens of the longest batch in these steps
	PeakStep int         `json:"peak_step"`        // the step that the peak of reserved bytes was reached in, from 1
	PeakAt   int         `json:"peak_length"`      // tokens of the longest batch of that step
	Orders   int         `json:"orders,omitempty"` // how many orders were simulated; 0 if lengths were given in order, or the run is too long
	Spread   *[2]uint64  `json:"spread,omitempty"` // the least and the most bytes that these orders reserved
	Growth   [][2]uint64 `json:"growth"`           // steps, and the bytes reserved after them
	Remedies []Remedy    `json:"remedies"`         // changes with which the run would reserve less, best first
}

// orders is how many seeds a run is simulated with.
const orders = 8

// maxRemedied is how many events a run may have for other orders and remedies to be simulated too.
const maxRemedied = 400_000

// milestones are the numbers of steps after which growth is shown.
var milestones = []int{10, 20, 40, 100, 200, 400, 1000, 2000}

// vary finds out how the peak depends on chance, and what would help.
func (a *Answer) vary(ctx context.Context) error {
	if a.Setup.Lengths == nil || a.Run == nil {
		return nil
	}
	tokens := a.Setup.Tokens()
	v := &Varying{Steps: len(tokens), Remedies: []Remedy{}}
	for _, s := range tokens {
		v.Longest = max(v.Longest, slices.Max(s))
	}
	ends := stepEnds(a.run.trace)
	v.PeakStep = 1 + min(firstAfter(ends, a.Play.PeakReservedAt), len(tokens)-1)
	v.PeakAt = slices.Max(tokens[v.PeakStep-1])
	v.Growth = a.growth(ends, len(tokens))
	a.Lengths = v
	if len(a.run.trace.Events) > maxRemedied {
		return nil
	}
	if err := a.spread(ctx); err != nil {
		return err
	}
	var err error
	v.Remedies, err = a.remedies(ctx)
	return err
}

// stepEnds returns the events at which the steps after the first begin, and the end of the last step.
func stepEnds(t *stream.Trace) (out []int) {
	phase := uint32(simulate.Load)
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == stream.Mark {
			if e.ID == simulate.Forward && phase == simulate.Optimizer {
				out = append(out, i)
			}
			phase = e.ID
		}
	}
	return append(out, len(t.Events))
}

// firstAfter returns the index of the step that an event belongs to.
func firstAfter(ends []int, event int) int {
	i, _ := slices.BinarySearch(ends, event+1)
	return min(i, len(ends)-1)
}

// growth returns the bytes reserved after each milestone, and after all steps.
func (a *Answer) growth(ends []int, steps int) (out [][2]uint64) {
	for _, n := range append(slices.Clone(milestones), steps) {
		if n > steps || n > len(ends) || len(out) > 0 && uint64(n) <= out[len(out)-1][0] {
			continue
		}
		if peak, ok := a.reservedBy[ends[n-1]-1]; ok {
			out = append(out, [2]uint64{uint64(n), peak})
		}
	}
	return out
}

// noteSteps makes a play note the peak of reserved bytes at the end of each step.
func (a *Answer) noteSteps(o *playing) {
	if a.Setup.Lengths == nil || a.Run == nil || a.run.loops != nil {
		return
	}
	ends := stepEnds(a.run.trace)
	a.reservedBy = make(map[int]uint64, len(ends))
	o.observe = func(i int, al *allocator.Allocator) {
		if len(ends) > 0 && i == ends[0]-1 {
			ends = ends[1:]
			a.reservedBy[i] = al.Stats().ReservedBytes.All.Peak
		}
	}
}

// spread simulates other orders, and widens the interval to hold their peaks.
func (a *Answer) spread(ctx context.Context) error {
	if a.Setup.Lengths.Each != nil {
		return nil
	}
	peaks := make([]uint64, orders-1)
	err := inParallel(len(peaks), func(i int) (err error) {
		peaks[i], err = a.reservedAs(ctx, func(s *setup.Setup) { s.Seed += i + 1 })
		return err
	})
	if err != nil {
		return err
	}
	peaks = append(peaks, a.PeakReserved)
	a.Lengths.Orders, a.Lengths.Spread = orders, &[2]uint64{slices.Min(peaks), slices.Max(peaks)}
	a.holdSpread()
	return nil
}

// holdSpread widens the interval to hold every order that was simulated.
func (a *Answer) holdSpread() {
	if a.Lengths == nil || a.Lengths.Spread == nil {
		return
	}
	low, high := a.PeakReserved-a.Lengths.Spread[0], a.Lengths.Spread[1]-a.PeakReserved
	a.Interval[0] -= min(low, a.Interval[0])
	a.Interval[1] += high
}

// reservedAs returns the bytes that the run reserves after a change to its setup, if memory has no limit.
func (a *Answer) reservedAs(ctx context.Context, change func(s *setup.Setup)) (uint64, error) {
	s := *a.Setup
	s.Limit = 0
	change(&s)
	card := a.Card
	card.Total = 0
	b, err := try(ctx, &s, card, a.most)
	if err != nil {
		return 0, err
	}
	b.Run.World.DiscardTags()
	b.Run.World.DiscardTrace()
	return b.PeakReserved, nil
}

// inParallel calls do for 0 to n-1 on all processors, and returns the first error in their order.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
