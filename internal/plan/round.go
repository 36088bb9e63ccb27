// SPDX-License-Identifier: Apache-2.0

package plan

// If an effective batch has few divisors, all possible batches may be far smaller than what fits: 251 is
// prime, and 251 micro-batches of 1 are slow. Then the nearest lower effective batch is used, and the
// user is told, as people do by hand (3 × 21 × 4 = 252 for 256).
const (
	worthRounding = 1.1  // speedup from which the effective batch is changed
	untimedWorth  = 2    // growth of the batch from which it is changed, if the run was not timed
	nearEnough    = 0.98 // of the effective batch
)

// rounder returns a choice with a micro-batch that does not divide the effective batch, if that is much faster;
// otherwise the given choice.
func (s *search) rounder(c *Choice, r room) (*Choice, error) {
	if s.rules.locked["batch"] || s.rules.locked["accumulation"] {
		return c, nil
	}
	at, err := s.largest(c.settings, r)
	if err != nil || at < 0 {
		return c, err
	}
	worth := worthRounding
	if !s.isTimed() {
		worth = untimedWorth
	}
	high := s.most()
	if at+1 < len(s.batches) {
		high = s.batches[at+1]
	}
	if high <= s.batches[at] {
		return c, nil
	}
	next, err := s.timed(s.split(c.settings, high))
	if err != nil || next.rate < worth*c.rate {
		return c, err // anything in between is no faster
	}
	batch, err := s.between(c.settings, s.batches[at], high, r)
	if err != nil || batch == s.batches[at] {
		return c, err
	}
	x := s.split(c.settings, batch)
	y, err := s.timed(x)
	if err != nil || y.rate < worth*c.rate {
		return c, err
	}
	y, fits, err := s.placed(y, r)
	if err != nil || !fits {
		return c, err
	}
	rounded, err := s.choice(y.settings)
	if err != nil || !runs(rounded.Estimate) {
		return c, err
	}
	return rounded, nil
}

// between returns the largest batch above low and below high that fits and comes near enough to the effective
// batch; low if there is none. Only the few that come near enough are simulated.
func (s *search) between(v settings, low, high int, r room) (int, error) {
	near := []int{low}
	for batch := low + 1; batch < high; batch++ {
		if x := s.split(v, batch); float64(x.effective()) >= nearEnough*float64(s.target) {
			near = append(near, batch)
		}
	}
	fits, beyond := 0, len(near)
	for beyond-fits > 1 {
		at := (fits + beyond) / 2
		c, err := s.timed(s.split(v, near[at]))
		if err != nil {
			return low, err
		}
		_, ok, err := s.placed(c, r)
		switch {
		case err != nil:
			return low, err
		case ok:
			fits = at
		default:
			beyond = at
		}
	}
	return near[fits], nil
}
