// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"io"
	"time"

	"snug/internal/watch"
)

// Replay emits the events of a recording at so many times the speed of the run; 0 is at once. The speed is asked for
// before each event, so it can change on the way.
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

// longestPause is how long a replay stands still at most: a gap in a recording is not waited for.
const longestPause = 10 * time.Second

// pause waits for the time between two events. It returns false if the replay is to end.
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
