// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"

	"snug/internal/gpu"
	"snug/internal/setup"
)

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
func MaxBatch(s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	if s.Limit == 0 && card.Total == 0 {
		return nil, errors.New("there is nothing to fit into; give a limit, --gpu or --gpu-memory")
	}
	try := func(batch int) (*Answer, error) {
		t := *s
		t.Batch = batch
		return Estimate(&t, card)
	}
	low, high := 0, 1
	var best, first *Answer
	for high <= largestBatch {
		a, err := try(high)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = a
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
		best = first
	}
	return &MaxAnswer{ID: s.ID, MaxBatch: low, PeakReserved: best.PeakReserved, At: best}, nil
}
