// SPDX-License-Identifier: Apache-2.0

package tune

import "math"

// Trials predict the remaining candidates better than any model: predicted memory is scaled by the error of earlier
// predictions for the same variant, and the step time is fitted to the variant's measured batches.

// memory returns the bytes that a candidate will reserve as far as is known; 0 if unknown.
func (c *Climb) memory(x Candidate) uint64 {
	if x.Predicted > 0 {
		return uint64(float64(x.Predicted) * c.off(x))
	}
	return c.extrapolated(x)
}

// off returns the factor by which predictions for a candidate's variant are off: that of the measured batch that is
// nearest, because fragmentation differs from batch to batch. If the variant was not measured, the factor is that of the
// other variants, but at least 1, because this one need not use less than predicted even if the others did.
func (c *Climb) off(x Candidate) float64 {
	own, all, least := 0.0, 0.0, math.Inf(1)
	for _, t := range c.tried {
		if t.Outcome != Fits || t.Predicted == 0 || t.Reserved == 0 {
			continue
		}
		f := float64(t.Reserved) / float64(t.Predicted)
		all = max(all, f)
		if apart := doublings(x, t); t.Variant == x.Variant && apart < least {
			own, least = f, apart
		}
	}
	if own > 0 {
		return own
	}
	return max(all, 1)
}

// doublings returns how far apart two batches are, in doublings.
func doublings(x Candidate, t Trial) float64 {
	return math.Abs(math.Log2(float64(x.Batch) / float64(t.Batch)))
}

// fragmentation is the factor by which memory may exceed its prediction at one batch and not at another, because free
// memory is fragmented differently.
const fragmentation = 1.1

// least returns the fewest bytes that a candidate may reserve, according to the trials so far. A prediction that was
// exceeded by no more than fragmentation explains is not corrected: only a trial can tell.
func (c *Climb) least(x Candidate) uint64 {
	if f := c.off(x); x.Predicted > 0 && f > 1 && f <= fragmentation {
		return x.Predicted
	}
	return c.memory(x)
}

// extrapolated returns the memory of a candidate without a prediction, from measured batches of its variant: the part
// that grows with the batch grows in proportion to it.
func (c *Climb) extrapolated(x Candidate) uint64 {
	var low, high *Trial
	for i := range c.tried {
		t := &c.tried[i]
		if t.Outcome != Fits || t.Variant != x.Variant || t.Reserved == 0 {
			continue
		}
		if low == nil || t.Batch < low.Batch {
			low = t
		}
		if high == nil || t.Batch > high.Batch {
			high = t
		}
	}
	if low == nil {
		return 0
	}
	base, slope := float64(low.Lasting), 0.0
	if high.Batch > low.Batch {
		slope = (float64(high.Reserved) - float64(low.Reserved)) / float64(high.Batch-low.Batch)
		base = float64(high.Reserved) - slope*float64(high.Batch)
	} else {
		slope = (float64(low.Reserved) - base) / float64(low.Batch)
	}
	return uint64(max(base+slope*float64(x.Batch), 0))
}

// mayFit reports whether a candidate may fit, as far as is known.
func (c *Climb) mayFit(x Candidate) bool {
	need := c.least(x)
	if c.opts.Limit > 0 && float64(need) > (1-c.opts.Margin)*float64(c.opts.Limit) {
		return false
	}
	for _, t := range c.tried {
		full := t.Outcome == OutOfMemory || t.Outcome == Fits && !c.under(t)
		broken := t.Outcome == Crashed || t.Outcome == Hung
		switch {
		case !full && !broken:
		case broken && t.Variant == x.Variant:
			return false // the variant does not work here; another batch size is not worth a trial
		case full && t.Variant == x.Variant && x.Batch >= t.Batch:
			return false
		case full && t.Predicted > 0 && x.Predicted > 0 && x.Predicted >= t.Predicted && c.off(x) >= c.off(t.Candidate):
			return false
		}
	}
	return true
}

// doubts are the fractions by which the speed of a candidate may exceed the expectation if its variant was measured at
// one batch, or at several.
var doubts = [...]float64{1: 0.04, 0.015}

// doubt returns the fraction by which the speed of a candidate may exceed the expectation, if known batches of its
// variant were measured. If measured speeds are off by more than predictions usually are, a variant that was never
// measured may be twice as fast as predicted.
func (c *Climb) doubt(known int) float64 {
	switch {
	case known > 0:
		return doubts[min(known, len(doubts)-1)]
	case c.worst() > commonError:
		return 1
	}
	return 0.15
}

// commonError is the error of a predicted speed, as a logarithm, that nine in ten predictions do not exceed.
const commonError = 0.2

// promising returns the candidate that may be the fastest among those that may fit, and its expected speed; nil if
// none is expected to be faster than the best by more than the noise.
func (c *Climb) promising(best *Trial) (*Candidate, float64) {
	var next *Candidate
	most, expects := best.Rate*(1+max(leastNoise, best.Noise)), 0.0
	for i := range c.candidates {
		x := &c.candidates[i]
		if c.isTried(*x) || !c.mayFit(*x) {
			continue
		}
		if best.Rate == 0 { // no times are known: larger batches count as faster
			if x.Batch > best.Batch && (next == nil || x.Batch > next.Batch) {
				next = x
			}
			continue
		}
		rate, known := c.rate(*x, best)
		hope := rate * (1 + c.doubt(known))
		if known < 2 { // how speed grows with the batch is not known yet, and noise must not hide it
			hope *= 1 + max(leastNoise, best.Noise) - leastNoise
		}
		if hope > most*alike || next != nil && hope > most/alike && c.nearer(*x, *next) {
			next, most, expects = x, hope, rate
		}
	}
	return next, expects
}

// alike is the largest factor between two expected speeds that count as the same.
const alike = 1.001

// nearer reports whether a should be tried before b if they may be equally fast: the one with a batch larger than all
// measured ones of its variant, then the one closer to a measured batch, or else the larger one.
func (c *Climb) nearer(a, b Candidate) bool {
	x, up := c.distance(a)
	y, alsoUp := c.distance(b)
	if up != alsoUp {
		return up
	}
	if x != y {
		return x < y
	}
	return a.Batch > b.Batch
}

// distance returns how far a candidate's batch is from the nearest measured one of its variant, in doublings, and
// whether it is larger than all of them; 0 and true if none was measured.
func (c *Climb) distance(x Candidate) (least float64, larger bool) {
	least, larger = math.Inf(1), true
	for _, t := range c.tried {
		if t.Outcome == Fits && t.Variant == x.Variant {
			least = min(least, doublings(x, t))
			larger = larger && x.Batch > t.Batch
		}
	}
	if math.IsInf(least, 1) {
		return 0, true
	}
	return least, larger
}

// rate returns a candidate's expected speed, and the number of measured batches of its variant that it is based on.
func (c *Climb) rate(x Candidate, best *Trial) (rate float64, known int) {
	var own []Trial
	for _, t := range c.tried {
		if t.Outcome == Fits && t.Variant == x.Variant && t.Rate > 0 {
			own = append(own, t)
		}
	}
	switch len(own) {
	case 0:
		if x.Expected == 0 || best.Expected == 0 {
			return best.Rate, 0
		}
		return best.Rate * c.believed(x.Expected/best.Expected), 0
	case 1:
		return c.scaled(x, own[0]), 1
	}
	return fitted(x, own), len(own)
}

// scaled returns a candidate's speed from one measured batch of its variant. It scales the measured speed by the
// predicted ratio, but by no more than the ratio of the batches.
func (c *Climb) scaled(x Candidate, t Trial) float64 {
	if x.Expected == 0 || t.Expected == 0 {
		return t.Rate
	}
	f := c.believed(x.Expected / t.Expected)
	size := float64(x.Batch) / float64(t.Batch)
	return t.Rate * min(max(f, min(size, 1)), max(size, 1))
}

// maxTrustedError is the prediction error, as a logarithm, above which predicted speeds are useless for comparing
// candidates: a factor of two either way.
const maxTrustedError = 0.7

// believed returns how much of a predicted speed ratio to believe. If measured speeds are far from their predictions,
// as with recordings at tiny batches, candidates count as equally fast instead.
func (c *Climb) believed(ratio float64) float64 {
	return math.Pow(ratio, max(0, 1-c.worst()/maxTrustedError))
}

// worst returns the largest error of a predicted speed so far, as a logarithm.
func (c *Climb) worst() float64 {
	worst := 0.0
	for _, t := range c.tried {
		if t.Outcome == Fits && t.Rate > 0 && t.Expected > 0 {
			worst = max(worst, math.Abs(math.Log(t.Rate/t.Expected)))
		}
	}
	return worst
}

// fitted returns a candidate's speed from two or more measured batches of its variant: a forward pass takes a fixed
// time and a time per sample, fitted to the two nearest measured batches.
func fitted(x Candidate, own []Trial) float64 {
	a, b := nearest(x, own)
	perA, perB := 1/a.Rate, 1/b.Rate // seconds per sample: fixed/batch + each
	ia, ib := 1/float64(a.Batch), 1/float64(b.Batch)
	if ia == ib {
		return a.Rate
	}
	fixed := (perA - perB) / (ia - ib)
	each := perA - fixed*ia
	per := each + fixed/float64(x.Batch)
	if per <= 0 || fixed < 0 && x.Batch > max(a.Batch, b.Batch) {
		return max(a.Rate, b.Rate)
	}
	return 1 / per
}

// nearest returns the two measured trials whose batches are closest to a candidate's.
func nearest(x Candidate, own []Trial) (a, b Trial) {
	distance := func(t Trial) float64 {
		return math.Abs(math.Log(float64(t.Batch)) - math.Log(float64(x.Batch)))
	}
	a, b = own[0], own[1]
	if distance(b) < distance(a) {
		a, b = b, a
	}
	for _, t := range own[2:] {
		switch {
		case distance(t) < distance(a):
			a, b = t, a
		case distance(t) < distance(b):
			b = t
		}
	}
	return a, b
}
