// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Options are the limits of a climb.
type Options struct {
	Limit  uint64  // bytes that PyTorch may reserve on a GPU
	Margin float64 // fraction of Limit to leave free
	Most   int     // maximum number of trials; 0 means DefaultTrials
}

// DefaultTrials is the default maximum number of trials.
const DefaultTrials = 5

// Climb is the state of a climb. Next returns what to try, and Record adds the result.
type Climb struct {
	opts       Options
	candidates []Candidate
	start      int
	tried      []Trial  // trials in the order in which their candidates were first tried
	runs       int      // trials with a result, including repeats
	again      string   // the key of the candidate that was measured again
	failed     error    // why the command itself fails
	skipped    []string // keys of candidates that cannot be measured now
}

// New returns a climb over candidates, starting with the one at index start. All of them must have the same effective
// batch.
func New(candidates []Candidate, start int, o Options) (*Climb, error) {
	if len(candidates) == 0 || start < 0 || start >= len(candidates) {
		return nil, errors.New("there is nothing to try")
	}
	seen := map[string]bool{}
	for _, c := range candidates {
		if want := candidates[start].Effective(); c.Effective() != want {
			return nil, fmt.Errorf("%s makes an effective batch of %d, not %d", c.Name(), c.Effective(), want)
		}
		if seen[c.Key()] {
			return nil, fmt.Errorf("%s is listed twice", c.Name())
		}
		seen[c.Key()] = true
	}
	o.Most = cmp.Or(o.Most, DefaultTrials)
	return &Climb{opts: o, candidates: slices.Clone(candidates), start: start}, nil
}

// Record adds the result of a trial. A result that is not evidence, because the trial was interrupted or its machine
// was lost, changes nothing: Next returns the same candidate again.
func (c *Climb) Record(x Candidate, r Result) {
	if !r.Outcome.IsEvidence() {
		return
	}
	c.runs++
	i := slices.IndexFunc(c.tried, func(t Trial) bool { return t.Key() == x.Key() })
	if i < 0 {
		c.tried = append(c.tried, Trial{x, r, 1})
	} else {
		c.again = x.Key()
		c.tried[i] = c.tried[i].combined(r)
	}
	if c.runs == 1 && (r.Outcome == Crashed || r.Outcome == Hung) {
		c.failed = fmt.Errorf("%s: %s", r.Outcome, r.Why)
	}
}

// combined merges a repeated measurement into a trial. A candidate that failed once does not fit.
func (t Trial) combined(r Result) Trial {
	n := float64(t.Times)
	t.Times++
	if r.Outcome != Fits {
		t.Result = r
		return t
	}
	apart := 0.0
	if t.Rate > 0 && r.Rate > 0 {
		apart = max(t.Rate/r.Rate, r.Rate/t.Rate) - 1
	}
	t.Rate = (n*t.Rate + r.Rate) / (n + 1)
	t.Noise = max(min(t.Noise, r.Noise), apart/2) // the speeds of the two runs differ from their mean by apart/2
	t.Reserved, t.Allocated = max(t.Reserved, r.Reserved), max(t.Allocated, r.Allocated)
	t.Retries, t.Growth = max(t.Retries, r.Retries), max(t.Growth, r.Growth)
	t.Steps += r.Steps
	t.Seconds += r.Seconds
	return t
}

// Extend adds candidates that differ from the best in settings without predictions, such as the number of data loader
// workers, and allows one trial of each.
func (c *Climb) Extend(more []Candidate) error {
	all, err := New(slices.Concat(c.candidates, more), c.start, c.opts)
	if err != nil {
		return err
	}
	c.candidates = all.candidates
	c.opts.Most = c.runs + len(more)
	return nil
}

// Runs returns the number of completed trials.
func (c *Climb) Runs() int { return c.runs }

// Most returns the maximum number of trials.
func (c *Climb) Most() int { return c.opts.Most }

// Candidates returns all candidates.
func (c *Climb) Candidates() []Candidate { return slices.Clone(c.candidates) }

// Err returns why the climb cannot continue: the command failed in its first trial, for a reason other than memory.
func (c *Climb) Err() error { return c.failed }

// Best returns the fastest trial that fit, or nil. If several are equally fast within the noise, it returns the one
// with the least memory.
func (c *Climb) Best() *Trial {
	var fit []Trial
	for _, t := range c.tried {
		if t.Outcome == Fits && c.under(t) {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	top := slices.MaxFunc(fit, compareSpeed)
	best := top
	for _, t := range fit {
		if !faster(top, t) && t.Reserved < best.Reserved {
			best = t
		}
	}
	return &best
}

// compareSpeed compares by speed. If that is unknown, larger batches count as faster.
func compareSpeed(a, b Trial) int {
	if a.Rate == 0 || b.Rate == 0 {
		return cmp.Compare(a.Batch, b.Batch)
	}
	return cmp.Compare(a.Rate, b.Rate)
}

// faster reports whether a is faster than b by more than the noise of both.
func faster(a, b Trial) bool {
	if a.Rate == 0 || b.Rate == 0 {
		return a.Batch > b.Batch
	}
	return a.Rate > b.Rate*(1+noise(a, b))
}

// leastNoise is the minimum relative difference between the speeds of two runs with the same settings: clocks and
// temperatures change between runs, which a single run does not show.
const leastNoise = 0.01

// noise returns the relative amount by which the speeds of two trials may differ by chance.
func noise(a, b Trial) float64 { return max(leastNoise, a.Noise+b.Noise) }

// under reports whether a trial left the margin free. Without a margin, every trial that trained did.
func (c *Climb) under(t Trial) bool {
	return c.opts.Limit == 0 || c.opts.Margin == 0 || float64(t.Reserved) <= (1-c.opts.Margin)*float64(c.opts.Limit)
}

// Step is a decision.
type Step struct {
	Verb string     // "start", "step up", "step back", "try", "again", "stay" or "stop"
	Why  string     // the evidence
	End  string     // why the climb ends here, without the evidence
	Next *Candidate // nil if the climb is over
}

// Next returns what to do next. Its Next is nil if the climb is over; Best then has the answer, if any.
func (c *Climb) Next() Step {
	switch {
	case c.failed != nil:
		return Step{Verb: "stop", Why: c.failed.Error()}
	case c.runs == 0:
		return c.begin()
	case c.runs >= c.opts.Most:
		return c.stay("", fmt.Sprintf("--trials %d allows no more", c.opts.Most))
	}
	best := c.Best()
	if best == nil {
		return c.back()
	}
	if x := c.repeat(best); x != nil {
		return *x
	}
	next, expected := c.promising(best)
	if next == nil {
		return c.stay(c.evidence(c.tried[len(c.tried)-1])+"; ", c.whyNothing(best))
	}
	return c.toward(best, next, expected)
}

// back returns the step to another candidate if nothing has fit so far.
func (c *Climb) back() Step {
	var next *Candidate
	for i := range c.candidates {
		x := &c.candidates[i]
		if c.isTried(*x) || !c.mayFit(*x) {
			continue
		}
		if next == nil || c.better(*x, *next) {
			next = x
		}
	}
	if next == nil {
		return Step{Verb: "stop", Why: c.whyNone()}
	}
	return Step{Verb: "step back", Why: c.evidence(c.tried[len(c.tried)-1]), Next: next}
}

// better reports whether a should be tried before b if nothing has fit: the one that is predicted to be faster, or
// else the larger one.
func (c *Climb) better(a, b Candidate) bool {
	if x, y := a.Expected, b.Expected; x > 0 && y > 0 && x != y {
		return x > y
	}
	return a.Batch > b.Batch
}

// isTried reports whether a candidate has been tried or skipped.
func (c *Climb) isTried(x Candidate) bool {
	return slices.Contains(c.skipped, x.Key()) || slices.ContainsFunc(c.tried, func(t Trial) bool { return t.Key() == x.Key() })
}

// repeat returns a second measurement of the best if its gain over another is about as large as the noise: a single
// run might be luck. It happens at most once in a climb.
func (c *Climb) repeat(best *Trial) *Step {
	if c.again != "" || best.Times > 1 || best.Rate == 0 {
		return nil
	}
	for _, t := range c.tried {
		if t.Key() == best.Key() || t.Outcome != Fits || t.Rate == 0 || !c.under(t) {
			continue
		}
		gain, chance := best.Rate/t.Rate-1, noise(*best, t)
		if gain > chance && gain < 2*chance && t.Reserved < best.Reserved {
			x := best.Candidate
			return &Step{Verb: "again", Next: &x, Why: fmt.Sprintf(
				"%s is %s faster than %s, and measurements vary by up to %s, so it is measured again", best.Name(), percent(gain), t.Name(), percent(chance))}
		}
	}
	return nil
}
