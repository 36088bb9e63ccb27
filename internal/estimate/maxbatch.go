// SPDX-License-Identifier: Apache-2.0

package estimate

import "snug/internal/setup"

// MaxAnswer is the largest batch that trains within a limit.
type MaxAnswer struct {
	ID           string  `json:"id"`
	MaxBatch     int     `json:"max_batch"`
	PeakReserved uint64  `json:"peak_reserved"` // at that batch; what batch 1 needs where not even that fits
	At           *Answer `json:"-"`
}

// largestBatch ends the search where no card could follow.
const largestBatch = 1 << 20

// MaxBatch finds the largest batch of a setup that fits its limit and the card,
// by doubling and then halving the gap: each try is a whole simulated run at
// the limit, so that fragmentation and the allocator's retries count.
func MaxBatch(s *setup.Setup, card Card) (*MaxAnswer, error) {
	try := func(batch int) (*Answer, error) {
		t := *s
		t.Batch = batch
		return Estimate(&t, card)
	}
	low, high := 0, 1
	var best *Answer
	for high <= largestBatch {
		a, err := try(high)
		if err != nil {
			return nil, err
		}
		if a.OOM != nil {
			break
		}
		low, best = high, a
		high *= 2
	}
	for high-low > 1 && high <= largestBatch {
		mid := (low + high) / 2
		a, err := try(mid)
		if err != nil {
			return nil, err
		}
		if a.OOM == nil {
			low, best = mid, a
		} else {
			high = mid
		}
	}
	if best == nil {
		return needsMore(s, card)
	}
	return &MaxAnswer{ID: s.ID, MaxBatch: low, PeakReserved: best.PeakReserved, At: best}, nil
}

// needsMore says what a batch of one would take with nothing in its way.
func needsMore(s *setup.Setup, card Card) (*MaxAnswer, error) {
	t := *s
	t.Batch, t.Limit = 1, 0
	card.Total = 1 << 50
	a, err := Estimate(&t, card)
	if err != nil {
		return nil, err
	}
	return &MaxAnswer{ID: s.ID, PeakReserved: a.PeakReserved, At: a}, nil
}
