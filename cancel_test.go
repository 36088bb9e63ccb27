// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"snug"
)

// countdown is a context that ends after a number of Err calls, and counts the calls after that.
type countdown struct {
	context.Context
	left, after atomic.Int64
}

func endingAfter(asked int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(asked)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) >= 0 {
		return nil
	}
	c.after.Add(1)
	return context.Canceled
}

// TestCanceledSearchEnds cancels each kind of call at several points. After that, only work already in progress may
// finish; a full search would check the context dozens of times.
func TestCanceledSearchEnds(t *testing.T) {
	run := &snug.Setup{Model: snug.Model{Name: "gpt2"}, Batch: 4, Accumulation: 4, Seq: 128, Precision: snug.AmpFP16, Limit: 6 * snug.GiB}
	const trace = "testdata/measured/traces/gpt2-2l-b4-s128-fp32-adamw.pickle.gz"
	questions := map[string]func(context.Context) error{
		"estimate":  func(ctx context.Context) error { _, err := snug.Estimate(ctx, run, snug.Card{}); return err },
		"max batch": func(ctx context.Context) error { _, err := snug.MaxBatch(ctx, run, snug.Card{}); return err },
		"optimize": func(ctx context.Context) error {
			_, err := snug.Optimize(ctx, run, snug.Card{}, snug.PlanOptions{})
			return err
		},
		"replay": func(ctx context.Context) error {
			_, err := snug.Replay(ctx, trace, snug.ReplayOptions{Compare: true})
			return err
		},
		"profile": func(ctx context.Context) error {
			_, err := snug.FitProfile(ctx, []snug.Recording{{trace, snug.Size{"batch": 4}}, {trace, snug.Size{"batch": 5}}})
			return err
		},
		"predict": func(ctx context.Context) error { _, err := snug.Predict(ctx, trace, snug.Size{"batch": 4}); return err },
		"check":   func(ctx context.Context) error { return snug.Check(ctx, run) },
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			for _, at := range asksOf(name) {
				ctx := endingAfter(at)
				if err := ask(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("ended at %d: %v", at, err)
				}
				if n := ctx.after.Load(); n > maxAfter {
					t.Errorf("ended at %d: context checked %d times after that", at, n)
				}
			}
		})
	}
}

// maxAfter limits the context checks after the cancellation. Each simulated run that was waiting for a processor
// still makes one.
const maxAfter = 60

// asksOf returns the numbers of context checks after which each call is canceled.
func asksOf(name string) []int64 {
	switch name {
	case "estimate":
		return []int64{0, 1, 2, 3, 10, 20} // the last values are inside the interval computation
	case "max batch":
		return []int64{0, 1, 3, 6, 30, 60}
	case "optimize":
		return []int64{0, 1, 5, 20, 60}
	case "replay":
		return []int64{0, 1, 3}
	}
	return []int64{0}
}
