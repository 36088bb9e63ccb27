// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// MaxAnswer is the largest batch that trains within a limit.
type MaxAnswer struct {
	ID           string `json:"id"`
	MaxBatch     int    `json:"max_batch"`
	PeakReserved uint64 `json:"peak_reserved"` // at that batch; what batch 1 needs where not even that fits

	Best *Answer `json:"-"` // the run at MaxBatch, nil where that is 0
	Next *Answer `json:"-"` // the run with one more, nil where the search ended before it

	card gpu.Card // that it was looked for on
}

// largestBatch ends the search where no card could follow.
const largestBatch = 1 << 20

// ErrNoLimit is that there is nothing to search a batch for.
var ErrNoLimit = errors.New("there is nothing to fit into; give a limit or a GPU")

// MaxBatch finds the largest batch of a setup that fits its limit and the card,
// by doubling and then halving the gap: each try is a whole simulated run at
// the limit, so that fragmentation and the allocator's retries count.
func MaxBatch(s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	if s.Limit == 0 && card.Total == 0 {
		return nil, ErrNoLimit
	}
	m := &MaxAnswer{ID: s.ID, card: card}
	low, high := 0, 1
	for high <= largestBatch && (m.Next == nil || high-low > 1) {
		at := high
		if m.Next != nil {
			at = (low + high) / 2
		}
		t := *s
		t.Batch = at
		a, err := try(&t, card, mostTried)
		switch {
		case err != nil:
			return nil, err
		case a.OOM != nil:
			high, m.Next = at, a
		case m.Next == nil:
			low, high, m.Best = at, 2*at, a
		default:
			low, m.Best = at, a
		}
	}
	m.MaxBatch = low
	return m, m.finish()
}

// finish fills in the two runs that are shown.
func (m *MaxAnswer) finish() error {
	for _, a := range []*Answer{m.Best, m.Next} {
		if a == nil {
			continue
		}
		if err := a.finish(); err != nil {
			return err
		}
	}
	if m.Best != nil {
		m.PeakReserved = m.Best.PeakReserved
	} else {
		m.PeakReserved = m.Next.PeakReserved
	}
	return nil
}
