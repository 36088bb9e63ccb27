// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recording reads a recording of a real run.
func recording(t *testing.T, name string) []Event {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata/watch", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// states returns the sequence of states without repetitions; recurring evaluations count once.
func states(events []Event) []State {
	w := New(Options{})
	var out []State
	for _, e := range events {
		r, changed := w.Add(e)
		if changed && !(r.State == Evaluating && slices.Contains(out, Evaluating)) && (len(out) == 0 || out[len(out)-1] != r.State) {
			out = append(out, r.State)
		}
	}
	return out
}

func TestRecordings(t *testing.T) {
	tests := map[string][]State{
		"good":         {WarmingUp, Good, Ended},
		"underused":    {WarmingUp, Underused, Ended},
		"evaluates":    {WarmingUp, Underused, Evaluating, Good, Ended}, // 28 % of the cap before the first evaluation
		"curriculum":   {WarmingUp, Ragged, Good, Ended},
		"varying":      {WarmingUp, Ragged, Ended},
		"starved":      {WarmingUp, Good, Starved, Ended},
		"leak_graph":   {WarmingUp, Leaking, OutOfMemory},
		"leak_outputs": {WarmingUp, Leaking, OutOfMemory},
		"leak_slow":    {WarmingUp, Leaking, OutOfMemory},
		"staircase":    {WarmingUp, Underused, Leaking, OutOfMemory},
		"two_a":        {WarmingUp, Underused, OtherProcess, Ended},
		"two_b":        {WarmingUp, OtherProcess, Underused, Ended},

		"watched_good":        {WarmingUp, Good, Ended},
		"watched_underused":   {WarmingUp, Underused, Ended},
		"watched_evaluates":   {WarmingUp, Underused, Evaluating, Good, Ended}, // 27 % of the cap before the first evaluation
		"watched_leak_0005":   {WarmingUp, Leaking, OutOfMemory},
		"watched_leak_001":    {WarmingUp, Leaking, OutOfMemory},
		"watched_leak_004":    {WarmingUp, Leaking, OutOfMemory},
		"watched_ragged_leak": {WarmingUp, Underused, Leaking, OutOfMemory},
		"watched_staircase":   {WarmingUp, Underused, Leaking, Ended},
		"watched_two_a":       {WarmingUp, Underused, OtherProcess, Underused, Ended},
		"watched_two_b":       {WarmingUp, OtherProcess, Ended},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, states(recording(t, name))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRecordingsFromTheDriver reads the same runs without steps, as the driver alone reports them.
func TestRecordingsFromTheDriver(t *testing.T) {
	tests := map[string][]State{
		"good":         {WarmingUp, Good, Ended},
		"underused":    {WarmingUp, Underused, Ended},
		"evaluates":    {WarmingUp, Good, Ended},
		"curriculum":   {WarmingUp, Good, Ended},
		"varying":      {WarmingUp, Good, NearLimit, Ended}, // the driver cannot distinguish the cache from memory in use
		"starved":      {WarmingUp, Starved, Ended},
		"leak_graph":   {WarmingUp, Ended}, // the run lasts for only 11 samples
		"leak_outputs": {WarmingUp, Leaking, Ended},
		"leak_slow":    {WarmingUp, Leaking, Ended},
		"staircase":    {WarmingUp, Leaking, Ended},
		"two_a":        {WarmingUp, Underused, OtherProcess, Ended},
		"two_b":        {WarmingUp, OtherProcess, Underused, Ended},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			events := slices.DeleteFunc(recording(t, name), func(e Event) bool { return e.Kind == KindStep || e.Kind == KindOOM })
			if diff := cmp.Diff(want, states(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRecordedLeaks checks when each leak is detected, and the forecasts. In watched_leak_004 memory runs out with 43
// % of it reserved but not allocated.
func TestRecordedLeaks(t *testing.T) {
	names := []string{"leak_graph", "leak_outputs", "leak_slow", "staircase", "watched_leak_0005", "watched_leak_001", "watched_leak_004", "watched_ragged_leak"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			events := recording(t, name)
			last := 0
			for _, e := range events {
				if e.Kind == KindStep {
					last = e.Step.N
				}
			}
			checkLeak(t, events, 0, 60, last+1)
		})
	}
}

// TestIntervalsHold checks that at least 95 % of the intervals of each recorded leak contain the step at which memory ran
// out, from the first reading on, and that they are useful: half-way, they are at most 60 % as wide as the number
// of remaining steps, unless the cache fills sooner than the tensors.
func TestIntervalsHold(t *testing.T) {
	for _, name := range []string{"leak_graph", "leak_outputs", "leak_slow", "staircase", "watched_leak_0005", "watched_leak_001", "watched_leak_004", "watched_ragged_leak"} {
		events := recording(t, name)
		oom := 0
		for _, e := range events {
			if e.Kind == KindStep {
				oom = e.Step.N + 1
			}
		}
		n, missed := intervals(events, oom, func(r Reading) {
			if width, left := r.StepsToOOM[2]-r.StepsToOOM[0], oom-r.Step; r.Step == oom/2 && 5*width > 3*left && name != "watched_leak_004" {
				t.Errorf("%s at step %d: the interval %v is no help with %d steps left", name, r.Step, *r.StepsToOOM, left)
			}
		})
		if float64(missed) > 0.05*float64(n) || n == 0 {
			t.Errorf("%s: %d of %d intervals miss step %d", name, missed, n, oom)
		}
	}
}

// intervals counts the forecasts of a run and those whose interval misses the step at which memory ran out.
func intervals(events []Event, oom int, each func(Reading)) (n, missed int) {
	w := New(Options{})
	for _, e := range events {
		r, _ := w.Add(e)
		if e.Kind != KindStep || r.StepsToOOM == nil {
			continue
		}
		each(r)
		n++
		if r.Step+r.StepsToOOM[0] > oom || r.Step+r.StepsToOOM[2] < oom {
			missed++
		}
	}
	return n, missed
}

// TestForecastInSeconds checks, from half-way on, the forecast for a process that only the driver reports on.
func TestForecastInSeconds(t *testing.T) {
	for _, name := range []string{"leak_slow", "staircase"} {
		events := recording(t, name)
		failed := 0.0
		for _, e := range events {
			if e.Kind == KindOOM {
				failed = e.T
			}
		}
		w := New(Options{})
		for _, e := range events {
			if e.Kind == KindStep || e.Kind == KindOOM {
				continue
			}
			r, _ := w.Add(e)
			if r.SecondsToOOM == nil || e.T < failed/2 {
				continue
			}
			if at := e.T + r.SecondsToOOM[1]; at < 0.8*failed || at > 1.2*failed {
				t.Errorf("%s at %g s: memory was forecast to run out at %g s; it ran out at %g s", name, e.T, at, failed)
			}
		}
	}
}
