// SPDX-License-Identifier: Apache-2.0

package estimate

// Close tells whether the run would not fit any more if the estimate were as far
// off as others have been.
func (a *Answer) Close() bool {
	limit, total := a.Setup.Limit, a.Card.Total
	return limit > 0 && a.Interval[1] > limit || total > 0 && a.Interval[1]+a.Outside > total
}

// Sure is the run at the largest batch that fits with its whole interval, nil
// where not even 1 does. It is looked for from the edge down, in steps that double
// and are then halved, as it is seldom far. Where such runs were measured on this
// machine, like has been held against them, and its interval counts.
func (m *MaxAnswer) Sure(like *Answer) (*Answer, error) {
	if m.Best == nil {
		return nil, nil
	}
	var sure *Answer
	low, high := m.MaxBatch, m.MaxBatch+1 // the next to try, and the least that is not sure
	for step := 1; low > 0 && sure == nil; step *= 2 {
		a, err := m.at(low, like)
		switch {
		case err != nil:
			return nil, err
		case a.Close():
			high, low = low, max(low-step, 0)
		default:
			sure = a
		}
	}
	for high-low > 1 {
		a, err := m.at((low+high)/2, like)
		switch {
		case err != nil:
			return nil, err
		case a.Close():
			high = a.Setup.Batch
		default:
			low, sure = a.Setup.Batch, a
		}
	}
	return sure, nil
}

// at is the run at a batch, with the interval that like has.
func (m *MaxAnswer) at(batch int, like *Answer) (*Answer, error) {
	a, s := *m.Best, *m.Best.Setup
	if batch != m.MaxBatch {
		s.Batch = batch
		got, err := Estimate(&s, m.card)
		if err != nil {
			return nil, err
		}
		a = *got
	}
	if like != nil && like.measured != nil {
		a.Calibrate(*like.measured)
	}
	return &a, nil
}
