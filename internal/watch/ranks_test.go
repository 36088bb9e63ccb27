// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"
)

// ranked returns a run of four ranks, one on each card, which take the given GiB on cards of 80 GiB.
func ranked(gib [4]int64, shapes [4]int) *Watcher {
	const g = int64(1) << 30
	w := New(Options{})
	w.Add(Event{Kind: KindStart, Own: true})
	for rank := range 4 {
		w.Add(Event{Kind: KindStart, Total: 80 * g, PID: 100 + rank, Rank: &rank, World: 4})
	}
	for n := 1; n <= 30; n++ {
		for rank := range 4 {
			held := gib[rank] * g
			procs := []Process{{PID: 100 + rank, Used: held + g}}
			if rank == 0 { // the other ranks have a context on the first card too
				for other := 1; other < 4; other++ {
					procs = append(procs, Process{PID: 100 + other, Used: g / 2})
				}
			}
			w.Add(Event{T: float64(n), Kind: KindGPU, GPU: GPU{Index: rank, Used: held + 3*g, Total: 80 * g, Procs: procs}})
			w.Add(Event{T: float64(n), Kind: KindStep, PID: 100 + rank, Step: Step{
				N: n, Phase: Train, Shape: []int{shapes[rank], 512}, Allocated: 2 * g, PeakAllocated: held - g, Reserved: held, PeakReserved: held,
			}})
		}
	}
	return w
}

func TestRanks(t *testing.T) {
	even := [4]int{8, 8, 8, 8}
	tests := map[string]struct {
		gib    [4]int64
		shapes [4]int
		state  State
		pid    int
		why    string // "" if ranks are not mentioned
		advice string
	}{
		"balanced":          {[4]int64{40, 40, 41, 40}, even, Good, 102, "", ""},
		"rank 0 holds more": {[4]int64{52, 40, 40, 41}, even, Good, 100, "; the ranks are not balanced: rank 0 reserves 52.00 GiB, 12.00 GiB more than the median of the other 3 (40.00 GiB, +30 %)", "look for what only rank 0 does"},
		"one near its limit": {[4]int64{60, 60, 60, 76}, even, NearLimit, 103,
			"steps use up to 75.00 GiB of the 77.00 GiB available to the run (97 %); the ranks are not balanced: rank 3 reserves 76.00 GiB, 16.00 GiB more", "use a smaller batch"},
		"larger batches": {[4]int64{40, 60, 40, 40}, [4]int{8, 12, 8, 8}, Good, 101, ", and its batches are larger (up to 6144 elements; the others have up to 4096)", "give all ranks batches of about equal size"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ranked(tt.gib, tt.shapes).Now()
			if r.State != tt.state || r.PID != tt.pid || len(r.Ranks) != 4 {
				t.Errorf("got %+v", r)
			}
			if tt.why == "" && strings.Contains(r.Why, "ranks") || !strings.Contains(r.Why, tt.why) || !strings.Contains(r.Advice, tt.advice) {
				t.Errorf("why: %s\nadvice: %s", r.Why, r.Advice)
			}
		})
	}
}

// TestMainCard checks that a process is assigned to the card on which it holds most, although all ranks have contexts on
// the first card.
func TestMainCard(t *testing.T) {
	w := ranked([4]int64{40, 40, 40, 40}, [4]int{8, 8, 8, 8})
	for _, p := range w.View().Processes {
		if want := p.PID - 100; p.GPU.Index != want || p.Used != 41<<30 || p.Gone {
			t.Errorf("process %d: %v with %d bytes, gone %t", p.PID, p.GPU, p.Used, p.Gone)
		}
	}
}
