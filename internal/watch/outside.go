// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"

	"snug/internal/units"
)

// Memory outside PyTorch: the CUDA context, libraries, and what extensions allocate themselves. PyTorch does not count it, so it is
// the driver's count of the process minus what PyTorch had reserved at that moment. That is known only for samples that were taken
// during a step in which reserved memory did not change.

// addSample remembers the newest sample of the driver until the step in which it was taken is over.
func (o *outside) addSample(used int64) { o.used = used }

// outside is the memory outside PyTorch.
type outside struct {
	used     int64   // the sample taken during the current step; 0 if there is none
	reserved int64   // reserved memory at the end of the previous step
	points   history // by step
	newest   float64
	added    bool // the newest step has added a point
	leak     trend
	leaks    bool
	upTo     float64 // the leak is reported until this step without new evidence
}

// addStep ends a step.
func (o *outside) addStep(s Step) {
	used, before := o.used, o.reserved
	o.used, o.reserved = 0, s.Reserved
	o.added = s.Phase == Train && used >= s.Reserved && s.Reserved > 0 && s.Reserved == before && s.PeakReserved <= s.Reserved
	if o.added {
		o.newest = float64(used - s.Reserved)
		o.points.add(newPoint(float64(s.N), o.newest, nil))
	}
}

// mostOutside is the most that a process is assumed to use besides PyTorch's memory: its context and libraries.
const mostOutside = 2 * units.GiB

// outsideNow returns the memory outside PyTorch: measured or, if it is not, at most what the newest sample and step leave for it.
func (p *process) outsideNow() float64 {
	if p.outside.points.count > 0 {
		return p.outside.newest
	}
	return float64(min(max(0, p.used-p.last.Reserved), mostOutside))
}

// look searches for a leak. What matters depends on the card's size. As for tensors, a long history is searched only now and then.
func (o *outside) look(step int, total float64) {
	if every := max(1, len(o.points.last(kept))/32); o.added && o.points.count%every == 0 {
		got, ok := o.points.find(outsideTest(0.004 * total))
		if ok {
			o.leak, o.leaks, o.upTo = got, true, float64(step)+max(got.part, 16)
		}
	}
	o.leaks = o.leaks && float64(step) <= o.upTo
}

// outsidePoints is the shortest window of steps with a sample: 8 parts of 4.
const outsidePoints = 32

// outsideTest returns the requirements for a leak. This memory has no noise, but libraries allocate a few buffers of the same size
// one after the other, so a window has more parts than for tensors.
func outsideTest(floor float64) test {
	return test{least: outsidePoints, floor: floor, equal: 8, about: 0.34, pairs: 3}
}

// leakingOutside is the check for a leak of memory outside PyTorch.
func (w *Watcher) leakingOutside(p *process, r *Reading) bool {
	o, c := &p.outside, w.card(p)
	if !o.leaks || c == nil {
		return false
	}
	r.State = Leaking
	r.Why = fmt.Sprintf("memory outside PyTorch has grown by %v per step since step %.0f, to %v; what PyTorch allocated does not grow", gib(o.leak.slope), o.leak.from, gib(o.newest))
	w.forecastOutside(p, c, r)
	r.Advice = adviceLeakOutside
	return true
}

// forecastOutside adds to the reading when memory will run out. An allocation outside PyTorch fails as soon as the
// card is full; PyTorch first releases what it does not use. So the low and the middle are the steps until the card
// is full, and the high end is when the rest would not suffice for PyTorch's tensors.
func (w *Watcher) forecastOutside(p *process, c *card, r *Reading) {
	o := &p.outside
	peak, reserved := p.highest()
	room := float64(c.total-c.used) - (reserved - float64(p.last.Reserved))
	since := float64(p.step) - o.points.recent[len(o.points.recent)-1].x
	ends := [3]float64{max(0, room)/o.leak.high - since, max(0, room)/o.leak.slope - since, max(0, room+reserved-peak)/o.leak.low - since}
	ends[0], ends[2] = widened(ends[0], ends[1], ends[2], spareShare)
	r.StepsToOOM = &[3]int{whole(ends[0]), whole(ends[1]), whole(ends[2])}
	if s := p.stepSeconds(); s > 0 {
		r.SecondsToOOM = &[3]float64{round(max(0, ends[0]) * s), round(max(0, ends[1]) * s), round(max(0, ends[2]) * s)}
	}
}
