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

// If lengths vary, the peak depends on chance: which lengths are drawn, in which order, and for how many steps. So
// the run is simulated in several orders, and the interval covers all of their peaks.

// Varying describes a run with varying lengths beyond its peak figures.
type Varying struct {
	Steps    int         `json:"steps"`            // optimizer steps that were simulated
	Longest  int         `json:"longest"`          // tokens of the longest batch
	PeakStep int         `json:"peak_step"`        // the step in which reserved memory peaked, counting from 1
	PeakAt   int         `json:"peak_length"`      // tokens of that step's longest batch
	Orders   int         `json:"orders,omitempty"` // number of orders simulated; 0 if the lengths were given in order, or the run is too long
	Spread   *[2]uint64  `json:"spread,omitempty"` // the smallest and the largest peak reservation among these orders
	Growth   [][2]uint64 `json:"growth"`           // pairs of a number of steps and the bytes reserved after them
	Remedies []Remedy    `json:"remedies"`         // changes that would reduce the reserved memory, best first
}

// orders is the number of seeds that a run is simulated with.
const orders = 8

// maxRemedied is the largest number of events in a run for which other orders and remedies are simulated.
const maxRemedied = 400_000

// milestones are the numbers of steps after which growth is shown.
var milestones = []int{10, 20, 40, 100, 200, 400, 1000, 2000}

// vary determines how the peak depends on chance, and which remedies help.
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

// stepEnds returns the first event of each step except the first, and the end of the last step.
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

// noteSteps makes a play record the peak of reserved bytes at the end of each step.
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

// spread simulates other orders, and widens the interval to cover their peaks.
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

// holdSpread widens the interval to cover every order that was simulated.
func (a *Answer) holdSpread() {
	if a.Lengths == nil || a.Lengths.Spread == nil {
		return
	}
	low, high := a.PeakReserved-a.Lengths.Spread[0], a.Lengths.Spread[1]-a.PeakReserved
	a.Interval[0] -= min(low, a.Interval[0])
	a.Interval[1] += high
}

// reservedAs returns the bytes that the run reserves after a change to its setup, without a memory limit.
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

// inParallel calls do for 0 to n-1 on all processors, and returns the error with the lowest index.
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
