// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	"snug/internal/tune"
)

// The time left is the mean time of the trials so far times the number still to run, divided by the number that
// run at once.
func TestTimeLeft(t *testing.T) {
	x := &tuner{o: &tuneOptions{steps: 100}, expected: 2}
	if got := x.timeLeft(); got != 0 {
		t.Errorf("before the first trial: got %v", got)
	}
	x.lines = []trialRecord{
		{Result: tune.Result{Outcome: tune.Fits, Seconds: 40}}, {Result: tune.Result{Outcome: tune.OutOfMemory, Seconds: 20}}, {Result: tune.Result{Outcome: tune.Lost, Seconds: 900}},
	}
	if got := x.timeLeft(); got != time.Minute {
		t.Errorf("two trials of 30 s: got %v", got)
	}
	x.now.trials = []*runningTrial{{name: "a"}, {name: "b"}}
	if got := x.timeLeft(); got != 30*time.Second {
		t.Errorf("two trials of 30 s at once: got %v", got)
	}
	x.now.trials = []*runningTrial{{name: "a", first: time.Now().Add(-time.Hour)}}
	if got := x.timeLeft(); got != 30*time.Second {
		t.Errorf("a trial that takes longer than the others, and another: got %v", got)
	}
}

// During the first trial, the time left is an upper bound based on its steps so far.
func TestTimeLeftOfFirst(t *testing.T) {
	x := &tuner{o: &tuneOptions{steps: 100}, expected: 2}
	x.now.trials = []*runningTrial{{name: "a", steps: 50, first: time.Now().Add(-time.Minute)}}
	if got := x.timeLeft().Round(time.Second); got != 3*time.Minute {
		t.Errorf("got %v, want 1 min for this trial and 2 for the next", got)
	}
	if got := x.status(); got != "a: step 50 of at most 100, about 3 min left" {
		t.Error(got)
	}
}

func TestLeftText(t *testing.T) {
	for left, want := range map[time.Duration]string{
		3 * time.Second: "less than 10 s left", 44 * time.Second: "about 40 s left", 150 * time.Second: "about 3 min left", 150 * time.Minute: "about 2.5 h left",
	} {
		if got := leftText(left); got != want {
			t.Errorf("%v: %s, want %s", left, got, want)
		}
	}
}
