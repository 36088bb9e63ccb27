// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"
)

// expectedRun is a prediction: 2 GiB stay, a step of 8 x 512 takes 10 GiB and an evaluation 6.
func expectedRun() *Expected {
	const g = 1 << 30
	return &Expected{
		Load: Peak{g, g}, Steps: []Peak{{9 * g, 10 * g}, {10 * g, 11 * g}}, Eval: Peak{6 * g, 11 * g}, AfterEval: Peak{10 * g, 11 * g},
		Even: true, Batch: 8, Length: 512, Low: 0.98, High: 1.02,
	}
}

// follow returns a run that matches the prediction, except for a change to its steps.
func follow(change func(s *Step)) *Watcher { return followed(expectedRun(), change) }

func followed(x *Expected, change func(s *Step)) *Watcher {
	const g = int64(1) << 30
	w := New(Options{})
	w.Expect(x)
	w.Add(Event{Kind: KindStart, Total: 80 * g, PID: 1})
	for n := 1; n <= 40; n++ {
		s := Step{N: n, Phase: Train, Shape: []int{8, 512}, Allocated: 2 * g, PeakAllocated: 10 * g, Reserved: 11 * g, PeakReserved: 11 * g}
		if n == 1 {
			s.PeakAllocated, s.Reserved, s.PeakReserved = 9*g, 10*g, 10*g
		}
		change(&s)
		w.Add(Event{T: float64(n), Kind: KindStep, PID: 1, Step: s})
		if n%10 == 0 {
			e := Step{N: n, Phase: Eval, Shape: []int{8, 512}, Allocated: 2 * g, PeakAllocated: 6 * g, Reserved: s.Reserved, PeakReserved: s.PeakReserved}
			change(&e)
			w.Add(Event{T: float64(n) + 0.5, Kind: KindStep, PID: 1, Step: e})
		}
	}
	return w
}

// deviations are single changes to a predicted run, with the expected causes.
var deviations = map[string]struct {
	change func(s *Step)
	step   int
	phase  Phase
	what   string
	cause  Cause
	why    string
}{
	"more": {func(s *Step) {
		if s.N >= 5 && s.Phase == Train {
			s.PeakAllocated += 1024 * mib
		}
	}, 5, Train, "allocated", More, "step 5 allocated 11.00 GiB instead of the predicted 10.00 GiB (+1.00 GiB, +10.0 %)"},
	"a larger batch": {func(s *Step) {
		if s.N == 7 && s.Phase == Train {
			s.PeakAllocated, s.Shape = s.PeakAllocated*2, []int{16, 512}
		}
	}, 7, Train, "allocated", LargerBatch, ": its batch of shape 16 x 512 is larger than the predicted 8 x 512, for which 19.00 GiB is predicted"},
	"growth": {func(s *Step) {
		if s.N > 2 {
			s.Allocated += int64(s.N-2) * 50 * mib
			s.PeakAllocated += int64(s.N-2) * 50 * mib
		}
	}, 7, Train, "allocated", Growth, ": memory that stays between steps has grown by 250.0 MiB since step 2"},
	"a fast leak": {func(s *Step) {
		s.Allocated += int64(s.N) * 100 * mib
		s.PeakAllocated += int64(s.N) * 100 * mib
	}, 3, Train, "allocated", Growth, "step 3 allocated 10.29 GiB instead of the predicted 10.00 GiB (+300.0 MiB, +2.9 %): memory that stays between steps grows by 100.0 MiB per step"},
	"the cache": {func(s *Step) {
		if s.N >= 12 {
			s.Reserved += 2048 * mib
			s.PeakReserved += 2048 * mib
		}
	}, 12, Train, "reserved", Fragments, "step 12 reserved 13.00 GiB instead of the predicted 11.00 GiB (+2.00 GiB, +18.2 %): tensors take as much as predicted"},
	"a larger evaluation": {func(s *Step) {
		if s.Phase == Eval {
			s.PeakAllocated += 1024 * mib
		}
	}, 10, Eval, "allocated", More, "the evaluation after step 10 allocated 7.00 GiB"},
	"less": {func(s *Step) {
		if s.Phase == Train {
			s.PeakAllocated -= 4096 * mib
		}
	}, 3, Train, "allocated", Less, "step 3 allocated 6.00 GiB instead of the predicted 10.00 GiB (-4.00 GiB, -40.0 %)"},
}

const mib = int64(1) << 20

// TestDeviation changes one thing in a run, and checks the first step that differs and its cause.
func TestDeviation(t *testing.T) {
	for name, tt := range deviations {
		t.Run(name, func(t *testing.T) {
			x := expectedRun()
			x.At = func(shape []int) (Peak, bool) {
				return Peak{float64(shape[0]) / 8 * 9.5 * (1 << 30), 0}, true
			}
			got := followed(x, tt.change).Deviation()
			if got == nil {
				t.Fatal("no step differs")
			}
			if got.Step != tt.step || got.Phase != tt.phase || got.What != tt.what || got.Cause != tt.cause || !strings.Contains(got.Why, tt.why) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestNoDeviation checks changes that a prediction allows for: no step differs.
func TestNoDeviation(t *testing.T) {
	tests := map[string]func(s *Step){
		"as predicted": func(*Step) {},
		"within the interval": func(s *Step) {
			s.PeakAllocated += s.PeakAllocated / 64
			if s.Phase == Train {
				s.PeakReserved += s.PeakReserved / 64
			}
		},
		"the last batch of an epoch": func(s *Step) {
			if s.N%8 == 0 {
				s.PeakAllocated, s.Shape = s.PeakAllocated/2, []int{3, 512}
			}
		},
		"short batches": func(s *Step) { s.PeakAllocated, s.Shape = s.PeakAllocated/2+1<<30, []int{8, 200} },
		"two odd steps": func(s *Step) {
			if s.N%10 < 2 {
				s.PeakAllocated -= 3 << 30
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := follow(change)
			if got := w.Deviation(); got != nil {
				t.Errorf("got %+v", got)
			}
			if _, steps, _, why := w.Measured(); why != "" || steps != 40 {
				t.Errorf("%d steps, not usable: %s", steps, why)
			}
		})
	}
}

// TestUnpredictedEvaluation checks evaluations that were not predicted. An evaluation that takes no more than the
// steps is not reported. What a larger evaluation leaves in the cache is not attributed to the next step.
func TestUnpredictedEvaluation(t *testing.T) {
	x := expectedRun()
	x.Eval, x.AfterEval = Peak{}, Peak{}
	if got := followed(x, func(*Step) {}).Deviation(); got != nil {
		t.Errorf("got %+v", got)
	}
	large := func(s *Step) {
		if s.Phase == Eval {
			s.PeakAllocated = 15 << 30
		}
		if s.N > 10 || s.Phase == Eval {
			s.Reserved, s.PeakReserved = 16<<30, 16<<30
		}
	}
	got := followed(x, large).Deviation()
	if got == nil || got.Cause != NewEvaluation || got.Step != 10 || !strings.HasSuffix(got.Why, ": no evaluation was predicted") {
		t.Errorf("got %+v", got)
	}
}

// TestVaryingLengths checks a prediction with steps of several sizes: only a step above all of them is reported.
func TestVaryingLengths(t *testing.T) {
	x := expectedRun()
	x.Even, x.Length = false, 0
	w := followed(x, func(s *Step) {
		s.PeakAllocated -= int64(s.N%7) << 30
		if s.N == 33 && s.Phase == Train {
			s.PeakAllocated = 12 << 30
		}
	})
	if got := w.Deviation(); got == nil || got.Step != 33 {
		t.Errorf("got %+v", got)
	}
}

// TestPredictedInReadings checks the prediction in readings, and that a run without a prediction has none.
func TestPredictedInReadings(t *testing.T) {
	r := follow(func(*Step) {}).Now()
	if r.Predicted == nil || r.Predicted.Step.Allocated != 6<<30 || r.Predicted.Measured.Allocated != 6<<30 || r.Predicted.Load == nil || r.Predicted.Deviation != nil {
		t.Errorf("got %+v", r.Predicted)
	}
	if r := followed(nil, func(*Step) {}).Now(); r.Predicted != nil {
		t.Errorf("got %+v", r.Predicted)
	}
}

// TestMeasuredOfALeak checks that a leaking run is not compared with its prediction.
func TestMeasuredOfALeak(t *testing.T) {
	w := follow(func(s *Step) {
		s.Allocated += int64(s.N) << 28
		s.PeakAllocated += int64(s.N) << 28
	})
	if _, _, _, why := w.Measured(); why == "" {
		t.Error("a leaking run counts as a measurement")
	}
}

// TestAdvise checks that advice for a state is replaced, in the current reading too.
func TestAdvise(t *testing.T) {
	w := follow(func(*Step) {})
	w.Add(Event{T: 50, Kind: KindStep, PID: 1, Step: Step{N: 41, Phase: Train, Shape: []int{8, 512}, Allocated: 2 << 30, PeakAllocated: 10 << 30, Reserved: 11 << 30, PeakReserved: 11 << 30}})
	if s := w.Now().State; s != Underused {
		t.Fatalf("the state is %s", s)
	}
	w.Advise(Underused, "use the card")
	if got := w.Now().Advice; got != "use the card" {
		t.Errorf("got %q", got)
	}
	r, _ := w.Add(Event{T: 51, Kind: KindEnd})
	if r.State != Ended || r.Advice != "use the card" {
		t.Errorf("got %+v", r)
	}
}
