// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// even returns a run of 100 equal steps, each changed by a function. Numbers are fractions of the card, in percent.
func even(allocated, peak, reserved float64, change func(*Step)) []Event {
	events := []Event{{Kind: KindStart, Total: genCard, PID: 1}}
	for n := 1; n <= 100; n++ {
		s := Step{N: n, Phase: Train, Shape: []int{8, 512}, Allocated: share(allocated / 100), PeakAllocated: share(peak / 100), Reserved: share(reserved / 100), PeakReserved: share(reserved / 100)}
		if change != nil {
			change(&s)
		}
		events = append(events, Event{T: float64(n), Kind: KindStep, PID: 1, Step: s})
	}
	return append(events, Event{T: 101, Kind: KindEnd})
}

// TestStates checks states of even runs, and a part of the evidence for the last state before the end.
func TestStates(t *testing.T) {
	tests := map[string]struct {
		events []Event
		want   []State
		why    string
	}{
		"good":       {even(20, 50, 60, nil), []State{WarmingUp, Good, Ended}, "24.00 GiB of 40.00 GiB reserved (60 %)"},
		"underused":  {even(5, 15, 20, nil), []State{WarmingUp, Underused, Ended}, "(20 %)"},
		"near limit": {even(20, 93, 95, nil), []State{WarmingUp, NearLimit, Ended}, "37.20 GiB of the 40.00 GiB available to the run (93 %)"},
		"thrashing": {even(20, 80, 90, func(s *Step) { s.Retries = max(0, s.N-20) / 5 }), []State{WarmingUp, Good, Thrashing, Ended},
			"in 10 of the last 50 steps the allocator found no room and flushed its cache"},
		"flushed twice": {even(20, 80, 90, func(s *Step) { s.Retries = min(2, s.N/20) }), []State{WarmingUp, Good, Ended}, "(90 %)"},
		"checkpoints": {even(20, 50, 60, func(s *Step) {
			if s.N%30 == 1 {
				s.PeakAllocated = share(0.58)
			}
		}), []State{WarmingUp, Good, Ended}, "about one step in 30 needs 3.20 GiB more than the others, as after saving a checkpoint"},
		"one spike": {even(20, 50, 60, func(s *Step) {
			if s.N == 40 {
				s.PeakAllocated = share(0.58)
			}
		}), []State{WarmingUp, Good, Ended}, "(60 %), of which steps use 23.20 GiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, states(tt.events)); diff != "" {
				t.Error(diff)
			}
			w := New(Options{})
			for _, e := range tt.events[:len(tt.events)-1] {
				w.Add(e)
			}
			if !strings.HasSuffix(w.Now().Why, tt.why) && !strings.Contains(w.Now().Why, tt.why+" and") && !strings.Contains(w.Now().Why, tt.why+",") {
				t.Errorf("got %q, want %q in it", w.Now().Why, tt.why)
			}
		})
	}
}

// TestWaiting makes a run wait for its DataLoader while the GPU is busy for half of the time.
func TestWaiting(t *testing.T) {
	w := New(Options{})
	w.Add(Event{Kind: KindStart, Total: genCard, PID: 1})
	for n := 1; n <= 40; n++ {
		util, wait := 55.0, 0.5
		w.Add(Event{T: float64(n), Kind: KindGPU, GPU: GPU{Total: genCard, Used: share(0.6), Util: &util, Procs: []Process{{PID: 1, Used: share(0.6)}}}})
		w.Add(Event{T: float64(n), Kind: KindStep, PID: 1, Step: Step{N: n, Phase: Train, Allocated: share(0.1), PeakAllocated: share(0.4), Reserved: share(0.5), PeakReserved: share(0.5), Wait: &wait}})
	}
	if r := w.Now(); r.State != Starved || !strings.Contains(r.Why, "waited for its DataLoader for 50 % of each step") {
		t.Errorf("got %+v", r)
	}
}

// TestEvaluationKeeps checks what is said about an evaluation that keeps the outputs of its batches, and one that does not.
func TestEvaluationKeeps(t *testing.T) {
	for keeps, want := range map[float64]string{0.02: "; each batch keeps 819.2 MiB, and there is room for 17 more", 0: "(shape 32 x 512)"} {
		w := New(Options{})
		for _, e := range even(20, 50, 60, nil)[:60] {
			w.Add(e)
		}
		for i := range 6 {
			a := 0.3 + keeps*float64(i)
			w.Add(Event{T: 60, Kind: KindStep, PID: 1, Step: Step{N: 59, Phase: Eval, Shape: []int{32, 512}, Allocated: share(a), PeakAllocated: share(a + 0.25), Reserved: share(0.9), PeakReserved: share(0.9)}})
		}
		if r := w.Now(); r.State != Evaluating || !strings.HasSuffix(r.Why, want) || (keeps > 0) != (r.Advice == adviceCollects) {
			t.Errorf("keeps %g: got %+v", keeps, r)
		}
	}
}

// TestStepsStartAgain checks a search that trains in one process, trial after trial: the steps of a new trial are not compared with
// those of the previous one.
func TestStepsStartAgain(t *testing.T) {
	w := New(Options{})
	for trial := range 6 {
		for _, e := range even(20+10*float64(trial), 40+10*float64(trial), 90, nil)[:31] {
			if r, _ := w.Add(e); r.State == Leaking {
				t.Fatalf("a leak was seen in trial %d", trial)
			}
		}
	}
	if got := w.procs[1].trained; got != 30 {
		t.Errorf("%d steps, want those of the last trial", got)
	}
}
