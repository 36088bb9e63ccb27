// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"runtime"
	"sync"

	"snug/internal/estimate"
	"snug/internal/gpu"
)

// Case is one measured run with its estimate.
type Case struct {
	*Row
	Estimated *estimate.Answer // the estimate, or nil
	WithSkips *estimate.Answer // the estimate for a run that skips the same updates; nil if the run skipped none
	Err       error            // why there is no estimate
}

// Reserved returns the relative error of the estimated reserved memory.
func (c *Case) Reserved() float64 { return off(c.Estimated.PeakReserved, c.Measured.PeakReserved) }

// Allocated returns the relative error of the estimated allocated memory.
func (c *Case) Allocated() float64 { return off(c.Estimated.PeakAllocated, c.Measured.PeakAllocated) }

func off(estimated, truth uint64) float64 { return float64(estimated)/float64(truth) - 1 }

// Compare estimates every row that can be estimated, in order. The card of the measurements had enough memory for all
// of them.
func Compare(rows []Row) []Case {
	out := make([]Case, len(rows))
	each(len(rows), func(i int) {
		c := Case{Row: &rows[i]}
		if c.Setup != nil {
			c.Estimated, c.Err = estimate.Figures(c.Setup, unlimited(c.Card))
			if told := *c.Setup; c.Skipped() > 0 && c.Err == nil {
				told.SkippedUpdates = c.Skipped()
				c.WithSkips, c.Err = estimate.Figures(&told, unlimited(c.Card))
			}
		}
		out[i] = c
	})
	return out
}

// unlimited returns the card of a measurement, without a memory limit.
func unlimited(card gpu.Card) gpu.Card {
	card.Total = 1 << 57
	return card
}

// MaxCase is a measured largest batch with its estimate.
type MaxCase struct {
	*Row
	Estimated int   // the estimated largest batch
	Err       error // why there is no estimate
	OOMs      []OOM // the runs that ran out of memory
}

// OOM compares the request that failed in a real run with the one that fails in the simulation.
type OOM struct {
	Batch            int    // the batch of the run
	Estimated, Truth string // in PyTorch's format: "3.07 GiB"
}

// CompareMax searches for the largest batch of every row that can be simulated.
func CompareMax(rows []Row) []MaxCase {
	var out []MaxCase
	for i := range rows {
		if rows[i].Setup != nil {
			out = append(out, MaxCase{Row: &rows[i]})
		}
	}
	each(len(out), func(i int) { out[i].run() })
	return out
}

func (c *MaxCase) run() {
	m, err := estimate.MaxBatch(c.Setup, gpu.Reference)
	if err != nil {
		c.Err = err
		return
	}
	c.Estimated = m.MaxBatch
	for _, t := range c.Measured.Tries {
		if t.Fits {
			continue
		}
		s := *c.Setup
		s.Batch = t.Batch
		a, err := estimate.Estimate(&s, gpu.Reference)
		if err != nil {
			c.Err = err
			return
		}
		c.OOMs = append(c.OOMs, OOM{t.Batch, requestOf(a), triedToAllocate(t.OOM)})
	}
}

// each calls f for 0 to n-1, on all cores.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
