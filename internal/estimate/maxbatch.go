// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// MaxAnswer is the largest batch that trains within a limit.
type MaxAnswer struct {
	ID           string `json:"id"`            // the setup's ID
	MaxBatch     int    `json:"max_batch"`     // the largest batch that fits; 0 if none does
	PeakReserved uint64 `json:"peak_reserved"` // at that batch, or at batch 1 if not even that fits

	Best *Answer `json:"-"` // the run at MaxBatch; nil if MaxBatch is 0
	Next *Answer `json:"-"` // the run with one more sample; nil if the search ended before it

	Ends  int `json:"-"` // the smallest batch with which the script could not be followed, such as one larger than its data; 0 if none was tried
	Fails int `json:"-"` // a smaller batch that fails because free memory is fragmented; 0 if none was found

	Flat bool `json:"-"` // no batch that was tried changes the memory of the run

	card  gpu.Card // the card of the search
	cores Cores
	trend trend // memory of the runs that fit
}

// ErrNoLimit means that there is no memory limit for the search.
var ErrNoLimit = errors.New("no memory limit; give a limit or a GPU")

// MaxBatch finds the largest batch of a setup that fits its limit and the card, by doubling and then halving the gap.
// Each try is a whole simulated run at the limit, so fragmentation and the allocator's retries are included.
func MaxBatch(s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	return MaxBatchContext(context.Background(), s, card)
}

// MaxBatchContext is like MaxBatch, but stops once the context ends.
func MaxBatchContext(ctx context.Context, s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	return NewCores(runtime.GOMAXPROCS(0)).maxBatch(ctx, s, card)
}

// MaxBatch is like the function MaxBatch, but shares its cores with other searches.
func (c Cores) MaxBatch(s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	return c.maxBatch(context.Background(), s, card)
}

func (c Cores) maxBatch(ctx context.Context, s *setup.Setup, card gpu.Card) (*MaxAnswer, error) {
	if s.Limit == 0 && card.Total == 0 {
		return nil, ErrNoLimit
	}
	c.take()
	defer c.release()
	m := &MaxAnswer{ID: s.ID, card: card, cores: c}
	most := room(s, card)
	runs := ahead{
		cores: c,
		try:   func(batch int) (*Answer, error) { return try(ctx, withBatch(s, batch), card, maxTried) },
		guess: func(batch int) bool { return m.trend.at(batch) <= most },
	}
	err := m.climb(&runs, upward{high: 1})
	for first := 2; err == nil && first <= largestFirst && m.Best == nil && split(m.Next); first *= 2 {
		err = m.climb(&runs, upward{high: first})
	}
	if err == nil && m.MaxBatch < s.Batch && split(m.Next) {
		err = m.climb(&runs, upward{high: s.Batch}) // the run itself may fit
	}
	if err != nil {
		return nil, err
	}
	return m, m.finish()
}

// largestFirst is the largest batch at which a search tries to begin if smaller ones failed although enough memory
// was free.
const largestFirst = 16

// climb searches upward from a state. If nothing fits, it leaves the answer unchanged.
func (m *MaxAnswer) climb(runs *ahead, at bisection) error {
	var first, best, next *Answer
	for at.next() > 0 {
		a, err := runs.ask(at)
		switch {
		case best != nil && unfollowable(err):
			m.Ends = at.next()
			at = at.after(false)
			continue
		case err != nil:
			return err
		case a.OOM != nil:
			next = a
		default:
			best = a
			first = cmp.Or(first, a)
			m.trend.add(a)
		}
		if at = at.after(a.OOM == nil); best == nil && next != nil {
			break // smaller batches are not tried again
		}
	}
	if best == nil && m.Next != nil {
		return nil
	}
	if m.Next != nil {
		m.Fails = m.Next.Setup.Batch
	}
	if m.Next = next; best != nil {
		m.Best, m.MaxBatch = best, best.Setup.Batch
		m.Flat = next == nil && first != best && first.PeakAllocated == best.PeakAllocated
	}
	if m.Ends == m.MaxBatch+1 {
		m.Next = nil // a batch that does not fit is larger
	}
	return nil
}

// split reports whether a run failed although enough memory was free, because it was fragmented. If the peak is in another
// part of the run, such as its evaluation, a larger batch may fit, because it leaves larger blocks behind.
func split(a *Answer) bool {
	return a != nil && a.OOM != nil && a.OOM.Requested <= a.OOM.Free+a.OOM.Unallocated()
}

// unfollowable reports whether a script cannot be followed at a batch. Its data may have fewer samples, for example.
func unfollowable(err error) bool {
	var field *setup.FieldError
	return errors.As(err, &field) && field.Field == "loop"
}

// withBatch returns a setup with a different batch.
func withBatch(s *setup.Setup, batch int) *setup.Setup {
	t := *s
	t.Batch = batch
	return &t
}

// finish computes the figures of the two runs that are shown.
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
