// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math"
	"strings"

	"snug/internal/units"
)

// Thresholds, as fractions of the memory available to a process unless stated otherwise.
const (
	fewOf        = 0.30 // below this, the card is underused
	mostOf       = 0.92 // above this, the run is close to the limit
	otherShare   = 0.01 // fraction of the card; a process with less has only its context
	thrashSteps  = 50   // recent steps in which flushes are counted
	thrashLeast  = 4    // minimum number of steps with a flush
	followsShape = 0.6  // minimum correlation between batch size and memory
	raggedSpread = 0.10 // difference between steps, relative to the largest; less does not matter
	slightSpread = 0.02 // used instead if the state is already ragged, or if batches only grow, because they will continue to
	cacheGrowth  = 0.03 // growth of the cache over the recent steps, as a fraction of the capacity
	cacheRises   = 3    // minimum number of times it grew; once may be an evaluation or a longer batch
)

// judge returns the reading of a process. Checks are in order of urgency to the user.
func (w *Watcher) judge(p *process) Reading {
	if !p.seenStep && !p.failed {
		return w.judgeUnprobed(p)
	}
	r := Reading{Step: p.step}
	if p.failed && p.oomSteps < quietFor {
		return w.outOfMemory(p, r)
	}
	checks := []func(*process, *Reading) bool{
		w.leaking, w.leakingOutside, w.thrashing, w.evaluating, w.warmingUp, w.otherProcess, w.nearLimit, w.starved, w.ragged, w.cacheOnly,
	}
	for _, check := range checks {
		if check(p, &r) {
			return r
		}
	}
	w.share(p, &r)
	return r
}

func (w *Watcher) outOfMemory(p *process, r Reading) Reading {
	r.State = OutOfMemory
	r.Why = "a GPU memory allocation failed"
	if p.step > 0 {
		r.Why += fmt.Sprintf(" after step %d", p.step)
	}
	if capacity := w.capacity(p); capacity > 0 && p.seenStep {
		r.Why += fmt.Sprintf(", with %v of %v reserved", gib(p.last.Reserved), gib(capacity))
	}
	r.Advice = adviceOOM
	if p.leaks {
		r.Why += fmt.Sprintf("; memory was growing by %v per step", gib(p.leak.slope))
		r.Advice = adviceLeak
	}
	return r
}

func (w *Watcher) leaking(p *process, r *Reading) bool {
	if !p.leaks {
		return false
	}
	r.State = Leaking
	r.Why = fmt.Sprintf("allocated memory has grown by %v per step since step %.0f", gib(p.leak.slope), p.leak.from)
	if low, high := gib(p.leak.low).String(), gib(p.leak.high).String(); low != high {
		r.Why += fmt.Sprintf(" (between %s and %s)", low, high)
	}
	if len(p.last.Shape) > 0 {
		r.Why += ", and larger batches do not explain it"
	}
	w.forecast(p, r)
	r.Advice = adviceLeak
	return true
}

func (w *Watcher) thrashing(p *process, r *Reading) bool {
	n := p.retried(thrashSteps)
	if n < thrashLeast {
		return false
	}
	r.State = Thrashing
	r.Why = fmt.Sprintf("in %d of the last %d steps the allocator found no room and flushed its cache, which stalls the GPU", n, min(thrashSteps, len(p.peaks)))
	r.Advice = adviceThrash
	return true
}

func (w *Watcher) evaluating(p *process, r *Reading) bool {
	if !p.evaluating {
		return false
	}
	r.State = Evaluating
	r.Why = fmt.Sprintf("an evaluation is running after step %d; its batches take up to %v", p.step, gib(p.last.PeakAllocated))
	if n := len(p.last.Shape); n > 0 {
		r.Why += fmt.Sprintf(" (shape %s)", strings.ReplaceAll(strings.Trim(fmt.Sprint(p.last.Shape), "[]"), " ", " x "))
	}
	capacity := w.capacity(p)
	if capacity > 0 && p.staying()+p.evalPeak > mostOf*capacity {
		r.Advice = adviceEval
	}
	if each, ok := p.evaluation.collects(); ok {
		r.Why += fmt.Sprintf("; each batch keeps %v", gib(each))
		if capacity > 0 {
			r.Why += fmt.Sprintf(", and there is room for %.0f more", max(0, math.Floor((capacity-float64(p.last.PeakAllocated))/each)))
		}
		r.Advice = adviceCollects
	}
	return true
}

func (w *Watcher) warmingUp(p *process, r *Reading) bool {
	early := p.trained < earlySteps || p.shapesUnclear()
	if !early && (p.trained >= slowStart || p.steady) {
		return false
	}
	r.State = WarmingUp
	r.Why = fmt.Sprintf("%d steps so far", p.trained)
	if p.trained == 1 {
		r.Why = "1 step so far"
	}
	if !early {
		r.Why += ", and memory is still rising"
	}
	return true
}

func (w *Watcher) otherProcess(p *process, r *Reading) bool {
	c := w.card(p)
	if c == nil || c.total == 0 || !p.present {
		return false
	}
	sum, pid := c.otherProcess()
	if room := float64(c.total-sum) - float64(mostOutside); p.limit > 0 && float64(p.limit) <= room {
		return false // the cap is reached first, so other processes do not affect this run
	}
	if float64(sum) < otherShare*float64(c.total) {
		return false
	}
	r.State = OtherProcess
	r.Why = fmt.Sprintf("process %d uses %v on the same card", pid, gib(c.others[pid]))
	if n := len(c.others); n > 1 {
		r.Why = fmt.Sprintf("%d other processes use %v on the same card; the largest is process %d", n, gib(sum), pid)
	}
	r.Why += fmt.Sprintf("; this run uses %v, and %v is free", gib(p.used), gib(c.total-c.used))
	r.Advice = adviceOther(pid)
	return true
}

func (w *Watcher) nearLimit(p *process, r *Reading) bool {
	capacity := w.capacity(p)
	peak, _ := p.highest()
	if capacity == 0 || peak < mostOf*capacity {
		return false
	}
	r.State = NearLimit
	r.Why = fmt.Sprintf("steps use up to %v of the %v available to the run (%.0f %%)", gib(peak), gib(capacity), 100*peak/capacity) + p.spikes(capacity)
	r.Advice = adviceNear
	return true
}

func (w *Watcher) starved(p *process, r *Reading) bool {
	c := w.card(p)
	if c == nil {
		return false
	}
	since := p.stepT - p.stepSeconds()*float64(min(p.trained-1, recentSteps))
	u, ok := c.use(since)
	wait := p.waitShare()
	if !ok || !u.starved() && (u.mean > mostlyBusy || wait < waitsMuch) {
		return false
	}
	r.State = Starved
	r.Why = fmt.Sprintf("the GPU was busy %.0f %% of the time and idle in %.0f %% of the samples, while steps continued: it is waiting for data or for Python", u.mean, 100*u.idle)
	if wait > 0 {
		r.Why = fmt.Sprintf("the GPU was busy %.0f %% of the time; the run waited for its DataLoader for %.0f %% of each step", u.mean, 100*wait)
	}
	r.Advice = adviceStarved
	return true
}

func (w *Watcher) ragged(p *process, r *Reading) bool {
	s := p.shapes(recentSteps)
	least, follows := raggedSpread, max(followsShape, chance(s.steps))
	if s.grows || w.now.State == Ragged {
		least = slightSpread
	}
	if w.now.State == Ragged {
		// Leaving the state requires evidence too: a weak correlation in a few steps is not enough if batches vary and, over
		// more steps, memory follows them by more than chance.
		long := p.shapes(kept)
		s.correlation, follows = max(s.correlation, long.correlation), chance(long.steps)
		if long.steps < recentSteps {
			follows = -1 // too few steps to leave the state
		}
	}
	if !s.varies || s.correlation < follows || s.spread < least {
		return false
	}
	r.State = Ragged
	how := "vary"
	if s.grows {
		how = "grow"
	}
	r.Why = fmt.Sprintf("batches %s (%.0f to %.0f elements), and memory varies with them: %v to %v per step, correlation %.2f", how, s.low, s.high, gib(s.lowPeak), gib(s.highPeak), s.correlation)
	r.Advice = adviceRagged
	return true
}

// chance returns the correlation that this many unrelated pairs exceed by chance one time in twenty.
func chance(pairs int) float64 { return 2 / math.Sqrt(float64(max(pairs, 1))) }

func (w *Watcher) cacheOnly(p *process, r *Reading) bool {
	capacity := w.capacity(p)
	if capacity == 0 {
		return false
	}
	for _, n := range []int{recentSteps, kept} { // more steps show slower growth, but the cache must still grow
		recent := p.recentPeaks(n)
		c := cacheOf(recent)
		if len(recent) < n/2 || !c.keepsGrowing(len(recent)) || n > recentSteps && (c.late < c.grown/8 || p.shapes(n).varies) {
			continue
		}
		first, last := recent[0], recent[len(recent)-1]
		if c.grown < cacheGrowth*capacity || last.allocated-first.allocated > cacheGrowth*capacity/4 {
			continue
		}
		r.State = CacheOnly
		r.Why = fmt.Sprintf("PyTorch's cache grew by %v in %d steps, but memory in use did not: this is not a leak", gib(c.grown), last.step-first.step)
		r.Advice = adviceCache
		return true
	}
	return false
}

// cacheGrows describes how the cache grew in some steps.
type cacheGrows struct {
	grown   float64 // total growth, excluding evaluations
	late    float64 // growth in the last quarter of the steps
	rises   int     // number of times the cache grew
	largest float64 // largest single growth
	newest  int     // index of the last step in which the cache grew
}

// cacheOf returns how the cache grew. Growth during an evaluation is not counted, because the next evaluation reuses
// it.
func cacheOf(steps []stepPeak) cacheGrows {
	var c cacheGrows
	for i := 1; i < len(steps); i++ {
		by := steps[i].reserved - steps[i-1].reserved
		if steps[i].afterEval && by > 0 {
			continue
		}
		c.grown += by
		if i >= len(steps)*3/4 {
			c.late += by
		}
		if by > 0 {
			c.rises, c.newest, c.largest = c.rises+1, i, max(c.largest, by)
		}
	}
	return c
}

// keepsGrowing reports whether the cache grew several times, most recently in the newer half of the steps.
func (c cacheGrows) keepsGrowing(steps int) bool {
	return c.rises >= cacheRises && c.newest >= steps/2 && c.largest <= c.grown/2
}

// share is the last check: the run is steady, and uses much or little of the available memory.
func (w *Watcher) share(p *process, r *Reading) {
	capacity := w.capacity(p)
	peak, reserved := p.highest()
	r.State = Good
	if capacity == 0 {
		r.Why = fmt.Sprintf("steady at %v; the card's size is not known", gib(reserved))
		return
	}
	part := reserved / capacity
	r.Why = fmt.Sprintf("steady: %v of %v reserved (%.0f %%), of which steps use %v", gib(reserved), gib(capacity), 100*part, gib(peak)) + p.spikes(capacity)
	few := fewOf
	if w.now.State == Underused {
		few += 0.02 // a run near the threshold must not change its state repeatedly
	}
	if part < few {
		r.State = Underused
		r.Advice = w.adviceUnderused(p, capacity)
	}
}

// gib formats bytes for people.
func gib[T int64 | float64](n T) units.Bytes { return units.Bytes(max(n, 0)) }
