// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// asked runs a search over made-up runs. It returns the batches that it asked about, and the number of rounds.
func asked(from bisection, cores int, yes, guess func(batch int) bool) (batches []int, rounds int) {
	c := NewCores(cores)
	c.take()
	var mu sync.Mutex
	run := map[int]bool{}
	a := ahead{cores: c, guess: guess, try: func(batch int) (*Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		run[batch] = true
		return &Answer{Setup: &setup.Setup{Batch: batch}}, nil
	}}
	for at := from; at.next() > 0; {
		before := len(run)
		got, _ := a.ask(at)
		if len(run) > before {
			rounds++
		}
		batches = append(batches, got.Setup.Batch)
		at = at.after(yes(got.Setup.Batch))
	}
	return batches, rounds
}

// TestSearchIsTheSameOnAnyCores checks that a search asks the same questions on any number of cores, however wrong
// the guesses are, and even if a batch fits although a smaller one does not.
func TestSearchIsTheSameOnAnyCores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edge := rapid.IntRange(0, 3000).Draw(t, "edge")
		odd := rapid.SliceOfN(rapid.IntRange(1, 4000), 0, 20).Draw(t, "odd")
		wrong := rapid.SliceOfN(rapid.IntRange(1, 4000), 0, 20).Draw(t, "wrong")
		yes := func(batch int) bool { return batch <= edge != slices.Contains(odd, batch) }
		guess := func(batch int) bool { return yes(batch) != slices.Contains(wrong, batch) }
		for _, from := range []bisection{upward{high: 1}, downward{low: 3000, step: 1}.after(false)} {
			want, _ := asked(from, 1, yes, guess)
			for _, cores := range []int{2, 3, 16} {
				if got, _ := asked(from, cores, yes, guess); !slices.Equal(got, want) {
					t.Fatalf("%+v on %d cores: asked about %v, want %v", from, cores, got, want)
				}
			}
		}
	})
}

func TestSearchUsesCores(t *testing.T) {
	fits := func(batch int) bool { return batch <= 700 }
	for cores, want := range map[int]int{1: 20, 2: 10, 4: 5, 16: 5} { // 1 to 1024, then nine halvings
		batches, rounds := asked(upward{high: 1}, cores, fits, fits)
		if len(batches) != 20 || rounds != want {
			t.Errorf("%d cores: %d questions in %d rounds, want 20 in %d", cores, len(batches), rounds, want)
		}
	}
}

// TestSearchDropsErrorsAhead checks that a speculative run that fails is not an error if it is not needed.
func TestSearchDropsErrorsAhead(t *testing.T) {
	a := ahead{cores: NewCores(4), guess: func(int) bool { return true }, try: func(batch int) (*Answer, error) {
		if batch > 2 {
			return nil, errors.New("too large")
		}
		return &Answer{}, nil
	}}
	if _, err := a.ask(upward{low: 1, high: 2}); err != nil {
		t.Error(err)
	}
	if _, err := a.ask(upward{low: 2, high: 4}); err == nil {
		t.Error("the requested run has no error")
	}
	if len(a.cores) != 0 {
		t.Errorf("%d cores were not released", len(a.cores))
	}
}

func TestMaxBatchOnCores(t *testing.T) {
	s := named(t, map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 512.0})
	for _, total := range []uint64{1 << 30, 6 << 30, 20 << 30} {
		card := gpu.Reference
		card.Total = total
		one, err := NewCores(1).MaxBatch(s, card)
		if err != nil {
			t.Fatal(err)
		}
		four, err := NewCores(4).MaxBatch(s, card)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := one.SafeBatch(one.Best)
		b, errB := four.SafeBatch(four.Best)
		if errA != nil || errB != nil || (a == nil) != (b == nil) {
			t.Fatalf("safe batches: %v and %v, %v, %v", a, b, errA, errB)
		}
		if one.MaxBatch != four.MaxBatch || one.PeakReserved != four.PeakReserved || a != nil && a.Setup.Batch != b.Setup.Batch {
			t.Errorf("%d bytes: %d with %d on one core, %d with %d on four", total, one.MaxBatch, one.PeakReserved, four.MaxBatch, four.PeakReserved)
		}
	}
}
