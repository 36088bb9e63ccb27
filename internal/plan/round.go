// SPDX-License-Identifier: Apache-2.0

package plan

// If an effective batch has few divisors, all possible batches may be far smaller than what fits: 251 is prime, and
// 251 micro-batches of 1 are slow. Then a slightly lower effective batch is used, with a note, as people do by hand
// (3 × 21 × 4 = 252 for 256).
const (
	worthRounding = 1.1  // the smallest speedup for which the effective batch is changed
	untimedWorth  = 2    // the smallest growth of the micro-batch for which the effective batch is changed, if the run was not timed
	nearEnough    = 0.98 // a rounded effective batch is at least this share of the requested one
	fewDivisors   = 2    // an effective batch whose divisors are no further apart than this factor is kept
)

// rounder returns the best choice with a micro-batch that does not divide the effective batch, if that is much
// faster; otherwise the given choice. It compares all variants again: those that gain nothing at the few batches that
// divide the effective batch, such as autocast at a batch of 1, may gain the most at others.
func (s *search) rounder(c *Choice, set []settings, r room) (*Choice, error) {
	if s.rules.locked["batch"] || s.rules.locked["accumulation"] {
		return c, nil
	}
	worth := worthRounding
	if !s.isTimed() {
		worth = untimedWorth
	}
	gains, err := s.mayGain(c, set, worth, r)
	if err != nil || !gains {
		return c, err
	}
	near := *s
	near.batches = s.near()
	rounded, err := near.fastest(set, r)
	if rounded != nil && err == nil {
		rounded, err = near.worthwhile(rounded, set, r)
	}
	if err != nil || rounded == nil || rounded.rate < worth*c.rate {
		return c, err
	}
	return rounded, nil
}

// mayGain reports whether rounding may make any variant faster than a choice by the given factor. It times each
// variant at the divisor after the largest one that fits: no batch in between is faster.
func (s *search) mayGain(c *Choice, set []settings, factor float64, r room) (bool, error) {
	last := len(s.batches) - 1
	for _, v := range set {
		top, err := s.timed(s.split(v, s.batches[last]))
		if err != nil {
			return false, err
		}
		if top.rate < factor*c.rate {
			continue
		}
		at, err := s.largest(v, r)
		if err != nil {
			return false, err
		}
		if at == last || at >= 0 && s.batches[at+1] <= fewDivisors*s.batches[at] || s.hopeless(v, r) {
			continue
		}
		next, err := s.timed(s.split(v, s.batches[at+1]))
		if err != nil || next.rate >= factor*c.rate {
			return err == nil, err
		}
	}
	return false, nil
}

// near returns the micro-batches with a multiple close enough below the effective batch.
func (s *search) near() []int {
	var out []int
	for batch := 1; batch <= s.most(); batch++ {
		if x := s.split(s.today, batch); float64(x.effective()) >= nearEnough*float64(s.target) {
			out = append(out, batch)
		}
	}
	return out
}
