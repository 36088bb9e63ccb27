// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBatches checks when memory is reported to follow the batches.
func TestBatches(t *testing.T) {
	tests := map[string]struct {
		run  generated
		want []State
	}{
		"much of the card":   {generated{stays: 0.2, takes: 0.2, lengths: drawn(250, 0.5)}, []State{WarmingUp, Ragged, Ended}},
		"little of the card": {generated{stays: 0.02, takes: 0.03, lengths: drawn(250, 0.5)}, []State{WarmingUp, Ragged, Ended}},
		"buckets":            {generated{stays: 0.1, takes: 0.1, lengths: bucketed(128, 256, 512)}, []State{WarmingUp, Ragged, Ended}},
		"evaluations":        {generated{stays: 0.2, takes: 0.2, lengths: drawn(250, 0.5), evalEach: 40}, []State{WarmingUp, Ragged, Evaluating, Ragged, Ended}},
		"hardly any effect":  {generated{stays: 0.5, takes: 0.01, lengths: drawn(250, 0.5)}, []State{WarmingUp, Good, Ended}},
		"all alike":          {generated{stays: 0.2, takes: 0.2}, []State{WarmingUp, Good, Ended}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.run.steps = 300
			events, _ := tt.run.events()
			if diff := cmp.Diff(tt.want, states(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCacheOnly increases reserved memory while allocated memory stays the same.
func TestCacheOnly(t *testing.T) {
	tests := map[string]struct {
		grows func(step int) bool
		evals bool // each growing step follows an evaluation that grows as much
		want  []State
	}{
		"again and again": {func(step int) bool { return step%10 == 0 }, false, []State{WarmingUp, Good, CacheOnly, Ended}},
		"slowly":          {func(step int) bool { return step%50 == 0 }, false, []State{WarmingUp, Good, CacheOnly, Ended}},
		"for a while":     {func(step int) bool { return step < 100 && step%10 == 0 }, false, []State{WarmingUp, Good, CacheOnly, Good, Ended}},
		"once":            {func(step int) bool { return step == 40 }, false, []State{WarmingUp, Good, Ended}},
		"in evaluations":  {func(step int) bool { return step%10 == 0 }, true, []State{WarmingUp, Good, Evaluating, Good, Ended}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			events := []Event{{Kind: KindStart, Total: genCard, PID: 1}}
			reserved := 0.4
			steps := 100
			if name == "slowly" || name == "for a while" {
				steps = 400
			}
			for step := 1; step <= steps; step++ {
				s := Step{N: step, Phase: Train, Shape: []int{8, 512}, Allocated: share(0.1), PeakAllocated: share(0.3)}
				if tt.grows(step) {
					reserved += 0.04
					if tt.evals {
						e := s
						e.Phase, e.Reserved, e.PeakReserved, e.N = Eval, share(reserved), share(reserved), step-1
						events = append(events, Event{T: float64(step), Kind: KindStep, PID: 1, Step: e})
					}
				}
				s.Reserved, s.PeakReserved = share(reserved), share(reserved)
				events = append(events, Event{T: float64(step), Kind: KindStep, PID: 1, Step: s})
			}
			events = append(events, Event{T: float64(steps + 1), Kind: KindEnd})
			if diff := cmp.Diff(tt.want, states(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOtherProcess puts a second process on the card.
func TestOtherProcess(t *testing.T) {
	tests := map[string]struct {
		limit float64 // limit of the run, as a fraction of the card
		other float64
		want  []State
	}{
		"no cap":                      {0, 0.3, []State{WarmingUp, OtherProcess, Ended}},
		"a cap that fits beside it":   {0.5, 0.3, []State{WarmingUp, Good, Ended}},
		"a cap that does not":         {0.8, 0.3, []State{WarmingUp, OtherProcess, Ended}},
		"no more than a CUDA context": {0, 0.005, []State{WarmingUp, Good, Ended}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			events := []Event{{Kind: KindStart, Total: genCard, PID: 1}}
			if tt.limit > 0 {
				events = append(events, Event{Kind: KindLimit, PID: 1, Limit: share(tt.limit)})
			}
			g := GPU{Total: genCard, Used: share(0.36 + tt.other), Procs: []Process{{PID: 1, Used: share(0.36)}, {PID: 2, Used: share(tt.other)}}}
			for step := 1; step <= 30; step++ {
				s := Step{N: step, Phase: Train, Allocated: share(0.1), PeakAllocated: share(0.3), Reserved: share(0.35), PeakReserved: share(0.35)}
				events = append(events, Event{T: float64(step), Kind: KindStep, PID: 1, Step: s}, Event{T: float64(step), Kind: KindGPU, GPU: g})
			}
			events = append(events, Event{T: 31, Kind: KindEnd})
			if diff := cmp.Diff(tt.want, states(events)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// thinned returns a run of ragged batches in which only every nth step is reported, with the largest peak since the last
// report but the shape of the last batch, as an earlier probe did.
func thinned(seed uint64, nth int) []Event {
	r := rand.New(rand.NewPCG(seed, 3))
	length := drawn(250, 0.5)
	events := []Event{{Kind: KindStart, Total: genCard, PID: 1}}
	for report := 1; report <= 400; report++ {
		last, most := 0, 0
		for range nth {
			last = length(0, r)
			most = max(most, last)
		}
		s := Step{N: report * nth, Phase: Train, Shape: []int{8, last}, Allocated: share(0.1), Reserved: share(0.7), PeakReserved: share(0.7)}
		s.PeakAllocated = share(0.1 + 0.15*float64(most)/512)
		events = append(events, Event{T: float64(report), Kind: KindStep, PID: 1, Step: s})
	}
	return append(events, Event{T: 401, Kind: KindEnd})
}

// TestRaggedStays checks that a state with noisy evidence does not come and go.
func TestRaggedStays(t *testing.T) {
	for nth := 1; nth <= 4; nth++ {
		for seed := range uint64(20) {
			got := states(thinned(seed, nth))
			if n := len(got); n > 4 || n == 4 && got[2] != Ragged {
				t.Errorf("one step in %d, seed %d: %v", nth, seed, got)
			}
		}
	}
}
