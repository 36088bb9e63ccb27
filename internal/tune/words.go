// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/units"
)

// begin returns the first step.
func (c *Climb) begin() Step {
	at := c.unskipped()
	if at < 0 {
		return Step{Verb: "stop", Why: c.whyNone()}
	}
	x := c.candidates[at]
	why := "there is no prediction, so the current settings come first"
	if x.Predicted > 0 {
		why = fmt.Sprintf("the prediction is %v%s", units.Bytes(x.Predicted), c.ofLimit(x.Predicted))
	}
	return Step{Verb: "start", Why: why, Next: &x}
}

// stay returns the step that ends the climb at its best.
func (c *Climb) stay(evidence, why string) Step {
	if c.Best() == nil {
		return Step{Verb: "stop", Why: c.whyNone()}
	}
	return Step{Verb: "stay", Why: evidence + why, End: why}
}

// toward returns the step from the best so far to the next candidate.
func (c *Climb) toward(best *Trial, next *Candidate, expected float64) Step {
	verb := "try"
	if next.Variant == best.Variant {
		verb = "step back"
		if next.Batch > best.Batch {
			verb = "step up"
		}
	}
	why := c.evidence(c.tried[len(c.tried)-1])
	what := ""
	switch need := c.memory(*next); {
	case need > 0 && expected > 0:
		what = fmt.Sprintf("%s should take %v%s and may be faster", next.Name(), units.Bytes(need), c.ofLimit(need))
	case need > 0:
		what = fmt.Sprintf("%s should take %v%s", next.Name(), units.Bytes(need), c.ofLimit(need))
	default:
		what = next.Name() + " may be faster"
	}
	return Step{Verb: verb, Why: why + "; " + what, Next: next}
}

// evidence describes a trial.
func (c *Climb) evidence(t Trial) string {
	switch t.Outcome {
	case OutOfMemory, Crashed, Hung:
		return fmt.Sprintf("%s: %s", t.Name(), t.Why)
	}
	parts := []string{fmt.Sprintf("%s took %v%s", t.Name(), units.Bytes(t.Reserved), c.ofLimit(t.Reserved))}
	if t.Predicted > 0 {
		parts = append(parts, ComparePeak(t.Candidate, t.Result))
	}
	if t.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s samples/s, %s noise", rateText(t.Rate), percent(t.Noise)))
	}
	if t.Retries > 0 {
		parts = append(parts, fmt.Sprintf("PyTorch flushed its cache %d times to make room", t.Retries))
	}
	return strings.Join(parts, ", ")
}

// rateText formats a speed with about four digits.
func rateText(rate float64) string {
	if rate >= 1000 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.4g", rate)
}

// exactly is the relative error below which a measured peak counts as predicted: two 2 MiB allocator segments on the
// smallest card that trains.
const exactly = 0.005

// ComparePeak describes how far a trial's measured peak is from its prediction.
func ComparePeak(x Candidate, r Result) string {
	off := float64(r.Reserved)/float64(x.Predicted) - 1
	switch {
	case max(off, -off) <= exactly:
		return "as predicted"
	case off > 0:
		return fmt.Sprintf("%s more than predicted", percent(off))
	}
	return fmt.Sprintf("%s less than predicted", percent(-off))
}

// ofLimit returns bytes as a fraction of the limit, " of 24.00 GiB (83 %)".
func (c *Climb) ofLimit(bytes uint64) string {
	if c.opts.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(" of %v (%.0f %%)", units.Bytes(c.opts.Limit), 100*float64(bytes)/float64(c.opts.Limit))
}

// whyNothing explains why no other candidate is tried.
func (c *Climb) whyNothing(best *Trial) string {
	untried, large := 0, 0
	for _, x := range c.candidates {
		if !c.isTried(x) {
			untried++
			if !c.mayFit(x) {
				large++
			}
		}
	}
	switch {
	case untried == 0:
		return "everything was tried"
	case untried == large:
		return "nothing else fits"
	}
	return fmt.Sprintf("nothing else is expected to be faster than %s by more than the noise", best.Name())
}

// whyNone explains why the climb ends without an answer.
func (c *Climb) whyNone() string {
	least := slices.MinFunc(c.candidates, func(a, b Candidate) int { return a.Batch - b.Batch })
	if len(c.tried) == 0 {
		return "nothing was tried"
	}
	last := c.evidence(c.tried[len(c.tried)-1])
	if c.isTried(least) {
		return last + "; that is the smallest batch"
	}
	if need := c.memory(least); need > c.opts.Limit && c.opts.Limit > 0 {
		return fmt.Sprintf("%s; even %s would take %v%s", last, least.Name(), units.Bytes(need), c.ofLimit(need))
	}
	return last + "; nothing fits"
}

// percent formats a fraction, "1.2 %".
func percent(share float64) string {
	if share >= 0.095 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
