// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"snug/internal/profile"
	"snug/internal/snapshot"
)

// whole is a run of one program that was measured from beginning to end, on an H200.
type whole struct {
	Name      string
	Batch     int64
	Seed      int
	Steps     int
	Reserved  uint64
	Allocated uint64
}

const raggedFolder = "../../testdata/measured/ragged/"

func wholeRuns(t *testing.T) (out []whole) {
	t.Helper()
	f, err := os.Open(raggedFolder + "whole.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var w whole
		if err := json.Unmarshal(in.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// recorded returns a program fitted to its recordings with batches of 8 and 12.
func recorded(t *testing.T, name string) *profile.Program {
	t.Helper()
	var inputs []profile.Input
	for _, batch := range []int64{8, 12} {
		file := fmt.Sprintf("%s-b%d.pickle.gz", name, batch)
		f, err := os.Open(raggedFolder + file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rec, err := snapshot.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, profile.Input{Name: file, At: profile.Point{"batch": batch}, Card: "NVIDIA H200", Recording: rec})
	}
	p, err := profile.Fit(inputs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRaggedMeasured checks padded texts, graphs and recurrent layers at four times the recorded batches: predictions
// are within 3 % of the reserved memory, and the interval contains it. Runs with other seeds use their samples in
// another order.
func TestRaggedMeasured(t *testing.T) {
	programs := map[string]*profile.Program{}
	checked := 0
	for _, run := range wholeRuns(t) {
		if run.Seed != 0 || run.Batch != 32 && run.Batch != 48 {
			continue
		}
		p := programs[run.Name]
		if p == nil {
			p = recorded(t, run.Name)
			programs[run.Name] = p
		}
		if p.Ragged() != (run.Name != "lm-lstm") {
			t.Errorf("%s: ragged is %v", run.Name, p.Ragged())
		}
		got, err := p.Predict(profile.Point{"batch": run.Batch})
		if err == nil {
			err = p.WithInterval(got)
		}
		if err != nil {
			t.Fatal(err)
		}
		off := float64(got.PeakReserved)/float64(run.Reserved) - 1
		if max(off, -off) > 0.03 {
			t.Errorf("%s at %d: predicted %d, reserved %d (%+.1f %%)", run.Name, run.Batch, got.PeakReserved, run.Reserved, 100*off)
		}
		if i := got.Interval; i != nil && (run.Reserved < i[0] || run.Reserved > i[1]) {
			t.Errorf("%s at %d: %d is outside %v", run.Name, run.Batch, run.Reserved, *i)
		}
		checked++
	}
	if checked != 14 {
		t.Errorf("only %d runs were compared", checked)
	}
}
