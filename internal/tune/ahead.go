// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"fmt"
	"slices"
)

// A cluster runs several trials at once. While some are running, the next trial to start is the one that the climb
// would try if they went as predicted. If there is none, it is the one that the climb would try if the first of them
// did not fit. The number of trials left is computed under the same assumption.

// Ahead returns what to try while other candidates are running. Its Next is nil if nothing is worth trying or no more
// trials are allowed. If no candidate is running, Ahead returns the same as Climb.Next.
func (c *Climb) Ahead(flying []Candidate) Step {
	if len(flying) == 0 {
		return c.Next()
	}
	if c.runs+len(flying) >= c.opts.Most {
		return Step{}
	}
	first := flying[0].Name()
	good, bad := c.clone(), c.clone()
	bad.Record(flying[0], Result{Outcome: OutOfMemory})
	for i, x := range flying {
		good.Record(x, good.assumed(x))
		if i > 0 {
			bad.Record(x, bad.assumed(x))
		}
	}
	if x := good.unlike(flying); x != nil {
		return Step{Verb: "ahead", Why: fmt.Sprintf("may be faster than %s, which is running", first), Next: x}
	}
	if x := bad.unlike(flying); x != nil {
		return Step{Verb: "ahead", Why: fmt.Sprintf("next if %s, which is running, does not fit", first), Next: x}
	}
	return Step{}
}

// unlike returns the next candidate, or nil if it is already running.
func (c *Climb) unlike(flying []Candidate) *Candidate {
	next := c.Next().Next
	if next == nil || slices.ContainsFunc(flying, func(x Candidate) bool { return x.Key() == next.Key() }) {
		return nil
	}
	return next
}

// Left returns how many trials are still to run, including the next one, if they go as predicted.
func (c *Climb) Left() int {
	rest := c.clone()
	for n := 0; ; n++ {
		next := rest.Next().Next
		if next == nil {
			return n
		}
		rest.Record(*next, rest.assumed(*next))
	}
}

// clone returns a copy that can record assumed results.
func (c *Climb) clone() *Climb {
	out := *c
	out.tried, out.skipped = slices.Clone(c.tried), slices.Clone(c.skipped)
	return &out
}

// assumed returns the result of a trial if the predictions are right.
func (c *Climb) assumed(x Candidate) Result {
	r := Result{Outcome: Fits, Reserved: c.memory(x), Rate: x.Expected, Noise: leastNoise / 4}
	if best := c.Best(); best != nil && best.Rate > 0 {
		r.Rate, _ = c.rate(x, best)
	}
	return r
}

// Skip marks a candidate that cannot be measured now, for example because its job was canceled. The climb continues
// without it.
func (c *Climb) Skip(x Candidate) {
	c.skipped = append(c.skipped, x.Key())
	if slices.ContainsFunc(c.tried, func(t Trial) bool { return t.Key() == x.Key() }) {
		c.again = x.Key() // do not repeat the measurement
	}
}

// unskipped returns the index of the candidate to start with, or -1 if all candidates that may fit are skipped.
func (c *Climb) unskipped() int {
	best := -1
	for i, x := range c.candidates {
		switch {
		case slices.Contains(c.skipped, x.Key()):
		case i == c.start:
			return i
		case !c.mayFit(x):
		case best < 0 || c.better(x, c.candidates[best]):
			best = i
		}
	}
	return best
}
