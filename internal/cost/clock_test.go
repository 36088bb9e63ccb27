// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/simulate"
)

func reference(t *testing.T) Rates {
	t.Helper()
	r, ok := RatesOf(gpu.Reference)
	if !ok {
		t.Fatal("the reference card has no rates")
	}
	return r
}

// TestHostBound checks that many small kernels take as long as Python needs to launch them, and large ones as
// long as the device needs to run them.
func TestHostBound(t *testing.T) {
	rates := reference(t)
	run := func(bytes float64) float64 {
		k := newClock(rates, Constants{Op: 10e-6, Launch: 2e-6, Memory: 1, Stream: math.Inf(1)})
		for range 1000 {
			k.work(shadow.HostOp)
			k.run(k.takes(shadow.Kernel{Bytes: bytes}))
		}
		return k.seconds(1)
	}
	if got := run(1); math.Abs(got-10e-3) > 0.1e-3 {
		t.Errorf("1000 tiny ops take %.4f s, want the host's time, 0.0100", got)
	}
	big := 1000 * (1e9/rates.Bandwidth + 2e-6)
	if got := run(1e9); math.Abs(got/big-1) > 0.01 {
		t.Errorf("1000 large ops take %.4f s, want the device's time, %.4f", got, big)
	}
}

// TestFurtherMicroBatches checks that micro-batches that were not simulated take as long as the last one that
// was.
func TestFurtherMicroBatches(t *testing.T) {
	k := newClock(reference(t), Constants{Op: 1})
	for range 2 {
		k.work(shadow.HostOp)
		k.microDone()
	}
	if got := k.seconds(5); got != 5 {
		t.Errorf("five micro-batches of one second take %v", got)
	}
}

// TestMeasuredTimes compares estimates with runs that had the card to themselves: the runs to which the host
// constants were fitted, and runs from another day that were not used for fitting.
func TestMeasuredTimes(t *testing.T) {
	for _, c := range []struct {
		files        []string
		runs         int
		median, rank float64
	}{
		{[]string{"dev_time.jsonl", "more_time.jsonl"}, 69, 0.05, 0.98},
		{[]string{"clock_time.jsonl"}, 26, 0.05, 0.98},
		{[]string{"again_time.jsonl"}, 51, 0.05, 0.985},
	} {
		var all []pair
		for _, name := range c.files {
			all = append(all, timesIn(t, "../../testdata/measured/"+name)...)
		}
		off := medianOff(all)
		rank := rankCorrelation(all)
		t.Logf("%v: %d runs, median error %.1f %%, rank correlation %.3f", c.files, len(all), 100*off, rank)
		if len(all) != c.runs || off > c.median || rank < c.rank {
			t.Errorf("%v: %d runs, median error %.3f, rank correlation %.3f; want %d, at most %.3f, at least %.3f",
				c.files, len(all), off, rank, c.runs, c.median, c.rank)
		}
	}
}

// pair is an estimated and a measured time.
type pair struct{ estimated, measured float64 }

func medianOff(all []pair) float64 {
	var off []float64
	for _, p := range all {
		off = append(off, math.Abs(p.estimated/p.measured-1))
	}
	slices.Sort(off)
	return off[len(off)/2]
}

// rankCorrelation returns Spearman's rank correlation of times that are all different.
func rankCorrelation(all []pair) float64 {
	rank := func(of func(pair) float64) []int {
		order := make([]int, len(all))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(of(all[a]), of(all[b])) })
		ranks := make([]int, len(all))
		for r, i := range order {
			ranks[i] = r
		}
		return ranks
	}
	estimated, measured := rank(func(p pair) float64 { return p.estimated }), rank(func(p pair) float64 { return p.measured })
	sum, n := 0.0, float64(len(all))
	for i := range estimated {
		sum += math.Pow(float64(estimated[i]-measured[i]), 2)
	}
	return 1 - 6*sum/(n*(n*n-1))
}

// timesIn estimates the runs in a file. The first three steps of each run are warm-up.
func timesIn(t *testing.T, path string) []pair {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []pair
	for sc := lines(f); sc.Scan(); {
		var row struct {
			Setup    setup.Setup
			Measured struct{ Steps []struct{ Sec float64 } }
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Setup.Model.Config == nil && row.Setup.Model.Name == "" {
			continue
		}
		row.Setup.Steps = 2
		tape := &Tape{}
		if _, err := simulate.Run(&row.Setup, simulate.Options{Watch: tape}); err != nil {
			t.Fatal(err)
		}
		var secs []float64
		for _, s := range row.Measured.Steps[3:] {
			secs = append(secs, s.Sec)
		}
		slices.Sort(secs)
		all = append(all, pair{tape.Seconds(reference(t), max(row.Setup.Accumulation, 1)), secs[len(secs)/2]})
	}
	return all
}

func lines(f *os.File) *bufio.Scanner {
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	return sc
}
