// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/replay"
	"snug/internal/snapshot"
)

// measured is what PyTorch itself reported for a recorded run.
type measured struct {
	trace                       string
	peakAllocated, peakReserved uint64
}

// readRows reads a file with one JSON object per line.
func readRows(t *testing.T, path string) []measured {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []measured
	for line := range strings.Lines(string(data)) {
		var row struct {
			Trace    string
			Allocd   uint64 `json:"peak_allocated"`
			Reserved uint64 `json:"peak_reserved"`
			Measured struct {
				Allocd   uint64 `json:"peak_allocated"`
				Reserved uint64 `json:"peak_reserved"`
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		trace := filepath.Join(filepath.Dir(path), row.Trace)
		if _, err := os.Stat(trace); row.Trace != "" && err == nil { // the repository does not contain all recordings
			rows = append(rows, measured{
				trace,
				max(row.Allocd, row.Measured.Allocd), max(row.Reserved, row.Measured.Reserved),
			})
		}
	}
	return rows
}

func TestRecordingsReplayExactly(t *testing.T) {
	for _, row := range readRows(t, "testdata/rows.jsonl") {
		t.Run(filepath.Base(row.trace), func(t *testing.T) {
			checkExact(t, row)
			checkTails(t, row.trace)
		})
	}
}

// TestMeasuredRecordings checks a folder of measurements: *.jsonl files that name recordings next to them.
func TestMeasuredRecordings(t *testing.T) {
	folder := cmp.Or(os.Getenv("SNUG_TRUTH"), "../../testdata/measured")
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no measurements in %s (%v)", folder, err)
	}
	for _, f := range files {
		for _, row := range readRows(t, f) {
			t.Run(filepath.Base(row.trace), func(t *testing.T) {
				checkExact(t, row)
				if info, err := os.Stat(row.trace); err == nil && info.Size() < 1<<20 {
					checkTails(t, row.trace)
				}
			})
		}
	}
}

func open(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func checkExact(t *testing.T, row measured) {
	t.Helper()
	rec, err := snapshot.Read(open(t, row.trace))
	if err != nil {
		t.Fatal(err)
	}
	res, err := replay.Run(rec, rec.Busiest(), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Exact() {
		t.Errorf("not exact: %s", res.Mismatch)
	}
	if res.PeakReserved != row.peakReserved {
		t.Errorf("peak reserved %d, measured %d", res.PeakReserved, row.peakReserved)
	}
	if res.PeakAllocated != row.peakAllocated {
		t.Logf("peak allocated %d, measured %d", res.PeakAllocated, row.peakAllocated)
	}
}

// checkTails cuts off the beginning of a recording and checks that the rest is unchanged.
func checkTails(t *testing.T, path string) {
	t.Helper()
	for _, share := range []float64{0.01, 0.1, 0.33, 0.5, 0.9, 1} {
		rec, err := snapshot.ReadTail(open(t, path), share)
		if err != nil {
			t.Errorf("without the first %v: %v", share, err)
			continue
		}
		res, err := replay.Run(rec, rec.Busiest(), replay.Options{})
		if err != nil {
			t.Errorf("without the first %v: %v", share, err)
			continue
		}
		if !res.Exact() {
			t.Errorf("without the first %v: %s", share, res.Mismatch)
		}
	}
}
