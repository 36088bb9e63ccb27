// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"io"
	"time"

	"snug/internal/watch"
)

// Replay emits a recording's events at a multiple of the run's speed; 0 means at once. It calls speed before each
// event, so the speed can change during the replay.
func Replay(ctx context.Context, r *watch.Reader, speed func() float64, emit func(watch.Event)) error {
	last := 0.0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !pause(ctx, e.T-last, speed) {
			return nil
		}
		last = e.T
		emit(e)
	}
}

// longestPause is the longest pause in a replay: longer gaps in a recording are cut short.
const longestPause = 10 * time.Second

// pause waits for the time between two events. It returns false if the replay should end.
func pause(ctx context.Context, seconds float64, speed func() float64) bool {
	times := speed()
	if times <= 0 || seconds <= 0 {
		return ctx.Err() == nil
	}
	wait := min(time.Duration(seconds/times*float64(time.Second)), longestPause)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
