// SPDX-License-Identifier: Apache-2.0

package watch

import "fmt"

// The driver's count of a process's memory includes its context and everything PyTorch reserved, even its cache. So
// growth of this count is a leak only if it cannot be anything else: a straight line, while the GPU works, without a
// fall. A cache grows in ever rarer jumps, and the allocator releases it when memory runs out.
const (
	memoryPoints  = 15   // shortest window of samples
	memoryFloor   = 0.05 // minimum growth in a window, as a fraction of the available memory
	memorySeconds = 3.0  // shortest window in time
	leastUse      = 10   // percent: below this, weights are being loaded, not trained
	warmSamples   = 16
	warmSeconds   = 4.0
	slowSamples   = 120  // growing memory counts as warm-up for at most this many samples
	idleSeconds   = 60.0 // a process that has not computed for this long is no longer considered to be starting
	fullCard      = 0.97
)

// lookAtMemory searches for a leak in the driver's memory count. Reserved memory grows in steps, so a leak is reported for the
// length of a part of the window in which it was found, unless memory falls.
func (p *process) lookAtMemory(c *card, capacity float64) {
	got, ok := p.memory.find(test{least: memoryPoints, floor: memoryFloor * capacity, equal: 5, about: 0.5, pairs: 3})
	if ok && p.risesAtWork(c, got) {
		p.leak, p.leaks, p.leakUpTo = got, true, c.t+got.part
	}
	if c.t > p.leakUpTo || p.fell && p.dropped >= p.leak.from {
		p.leaks = false
	}
}

// risesAtWork reports whether memory has risen for long enough, without a fall, and while the GPU was working.
func (p *process) risesAtWork(c *card, rise trend) bool {
	if p.fell && p.dropped >= rise.from || c.t-rise.from < memorySeconds {
		return false
	}
	u, known := c.use(rise.from)
	return !known || u.mean >= leastUse
}

// judgeUnprobed returns the reading of a process that only the driver reports on.
func (w *Watcher) judgeUnprobed(p *process) Reading {
	r := Reading{}
	c := w.card(p)
	capacity := w.memoryCapacity(p)
	switch {
	case c == nil || p.samples == 0:
		r.State, r.Why = WarmingUp, "the process does not use a GPU yet"
	case p.gone:
		w.vanished(p, &r)
	case p.leaks:
		r.State = Leaking
		r.Why = fmt.Sprintf("the process's memory has grown linearly for %.0f s, by %v per second; without the probe, snug cannot tell whether tensors or PyTorch's cache are growing", c.t-p.leak.from, gib(p.leak.slope))
		w.forecastMemory(p, capacity, &r)
		r.Advice = adviceLeakUnprobed
	case w.own && w.started[p.pid] && c.t-p.holds < idleSeconds:
		r.State = WarmingUp
		r.Why = fmt.Sprintf("no step yet; %v in use after %.0f s", gib(p.used), c.t-p.holds)
	case p.memoryRises(c):
		r.State = WarmingUp
		r.Why = fmt.Sprintf("%v in use after %.0f s", gib(p.used), c.t-p.holds)
	case w.otherProcess(p, &r):
	case float64(p.used) >= fullCard*capacity:
		r.State = NearLimit
		r.Why = fmt.Sprintf("the process uses %v of the %v available to it; part of it may be PyTorch's cache", gib(p.used), gib(capacity))
		r.Advice = adviceNear
	default:
		w.steadyMemory(p, c, capacity, &r)
	}
	return r
}

// vanished sets the reading of a process that the driver no longer lists.
func (w *Watcher) vanished(p *process, r *Reading) {
	r.State = Ended
	r.Why = fmt.Sprintf("process %d no longer uses the card; it used %v", p.pid, gib(p.used))
	if capacity := w.memoryCapacity(p); capacity > 0 && float64(p.used) > fullCard*capacity {
		r.Why += fmt.Sprintf(" of the %v available to it, so it may have run out of memory", gib(capacity))
	}
}

// memoryRises reports whether a process is still warming up. It is false once the process has been steady.
func (p *process) memoryRises(c *card) bool {
	if p.warm {
		return false
	}
	age := c.t - p.holds
	if p.samples < warmSamples || age < warmSeconds {
		return true
	}
	if c.busyAt(p.holds) < 0 && age < idleSeconds {
		return true
	}
	recent := p.memory.last(8)
	p.warm = p.samples >= slowSamples || recent[len(recent)-1].y <= 1.01*recent[0].y
	return !p.warm
}

// steadyMemory is the last check: the process is steady, and uses much or little of the available memory.
func (w *Watcher) steadyMemory(p *process, c *card, capacity float64, r *Reading) {
	part := float64(p.used) / capacity
	u, known := c.use(max(p.holds, c.busyAt(p.holds)))
	r.State = Good
	r.Why = fmt.Sprintf("steady: %v of %v in use (%.0f %%)", gib(p.used), gib(capacity), 100*part)
	if known {
		r.Why += fmt.Sprintf(", the GPU is busy %.0f %% of the time", u.mean)
	}
	few := fewOf
	if w.now.State == Underused {
		few += 0.02
	}
	switch {
	case known && u.starved():
		r.State, r.Advice = Starved, adviceStarved
	case part < few:
		r.State, r.Advice = Underused, adviceUnderusedUnprobed
	}
}
