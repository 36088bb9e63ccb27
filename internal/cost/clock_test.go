// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bufio"
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

// TestHostBound: many small kernels take as long as Python needs to launch them,
// large ones as long as the device needs to run them.
func TestHostBound(t *testing.T) {
	rates := reference(t)
	run := func(bytes float64) float64 {
		k := newClock(rates, Constants{Op: 10e-6, Launch: 2e-6, Memory: 1, Random: 1})
		for range 1000 {
			k.work(shadow.HostOp)
			k.kernel(shadow.Kernel{Bytes: bytes})
		}
		return k.seconds(1)
	}
	if got := run(1); math.Abs(got-10e-3) > 0.1e-3 {
		t.Errorf("1000 tiny ops take %.4f s, want what the host needs, 0.0100", got)
	}
	big := 1000 * (1e9/rates.Bandwidth + 2e-6)
	if got := run(1e9); math.Abs(got/big-1) > 0.01 {
		t.Errorf("1000 large ops take %.4f s, want what the device needs, %.4f", got, big)
	}
}

// TestFurtherMicroBatches: micro-batches beyond those that ran take as long as
// the last.
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

// TestMeasuredTimes compares with runs that had the card to themselves.
func TestMeasuredTimes(t *testing.T) {
	var off []float64
	for _, name := range []string{"dev_time.jsonl", "more_time.jsonl"} {
		off = append(off, errors(t, "../../testdata/measured/"+name)...)
	}
	slices.Sort(off)
	median := off[len(off)/2]
	t.Logf("%d runs, median error %.1f %%, nine in ten within %.1f %%", len(off), 100*median, 100*off[len(off)*9/10])
	if len(off) < 60 || median > 0.10 {
		t.Errorf("median error of %d step times is %.1f %%, want at most 10", len(off), 100*median)
	}
}

func errors(t *testing.T, path string) []float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var off []float64
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
		off = append(off, math.Abs(tape.Seconds(reference(t), max(row.Setup.Accumulation, 1))/secs[len(secs)/2]-1))
	}
	return off
}

func lines(f *os.File) *bufio.Scanner {
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	return sc
}
