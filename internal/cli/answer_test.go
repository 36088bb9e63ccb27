// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"snug/internal/setup"
)

// Setups are not read further ahead than needed, and the answers are in order.
func TestAnswersAsItReads(t *testing.T) {
	const n = 10_000
	var read, shown, most atomic.Int64
	rs := func(yield func(request, error) bool) {
		for i := range n {
			read.Add(1)
			most.Store(max(most.Load(), read.Load()-shown.Load()))
			if !yield(request{setup: &setup.Setup{Batch: i}}, nil) {
				return
			}
		}
	}
	failed, err := answer(Env{Stdout: io.Discard, Stderr: io.Discard}, true, simulating, rs,
		func(s *setup.Setup) (int, error) {
			if s.Batch%100 == 7 {
				return 0, errors.New("not this one")
			}
			return s.Batch, nil
		},
		func(batch int) error {
			if last := int(shown.Add(1)) - 1; batch < last {
				return fmt.Errorf("%d comes after %d", batch, last)
			}
			return nil
		})
	if !strings.Contains(fmt.Sprint(err), "100 of 10000 setups could not be answered") || failed != n/100 {
		t.Errorf("%d failed, %v", failed, err)
	}
	if limit := int64(2*runtime.GOMAXPROCS(0) + n/100 + 4); most.Load() > limit { // every hundredth setup fails, and failed setups are not shown
		t.Errorf("%d were read ahead, at most %d", most.Load(), limit)
	}
}

// A truncated file is answered up to its end.
func TestAnswersUpToTheBreak(t *testing.T) {
	broken := errors.New("reading many.jsonl: broken")
	rs := func(yield func(request, error) bool) {
		for i := range 3 {
			if !yield(request{setup: &setup.Setup{Batch: i}}, nil) {
				return
			}
		}
		yield(request{}, broken)
	}
	shown := 0
	_, err := answer(Env{Stdout: io.Discard, Stderr: io.Discard}, true, simulating, rs,
		func(s *setup.Setup) (int, error) { return s.Batch, nil },
		func(int) error { shown++; return nil })
	if !errors.Is(err, broken) || shown != 3 {
		t.Errorf("%d answers, %v", shown, err)
	}
}
