// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// TestStandinRuns compares estimates with whole runs that PyTorch made on the stand-in for a GPU
// (testdata/standin/README.md). Requests are exact there, but a few blocks may be split differently than on a GPU, so
// the tolerance for reserved bytes is wider. SNUG_RUNS names another file of rows.
func TestStandinRuns(t *testing.T) {
	f, err := os.Open(cmp.Or(os.Getenv("SNUG_RUNS"), filepath.Join("..", "..", "testdata", "standin", "runs.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var row struct {
			Setup    map[string]any
			Recorded struct {
				Allocated float64 `json:"peak_allocated"`
				Reserved  float64 `json:"peak_reserved"`
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		s, err := setup.Decode(row.Setup, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := tryAs(s, spread(card, s), maxTried, simulate.Options{Standin: true, OutOfPlace: true})
		if err != nil {
			t.Errorf("%s: %v", s.ID, err)
			continue
		}
		t.Logf("%s: %d %d, recorded %.0f %.0f", s.ID, a.PeakAllocated, a.PeakReserved, row.Recorded.Allocated, row.Recorded.Reserved)
		if off := float64(a.PeakAllocated)/row.Recorded.Allocated - 1; math.Abs(off) > 0.002 {
			t.Errorf("%s: peak of %d bytes allocated, recorded %.0f (%+.2f %%)", s.ID, a.PeakAllocated, row.Recorded.Allocated, 100*off)
		}
		if off := float64(a.PeakReserved)/row.Recorded.Reserved - 1; math.Abs(off) > 0.05 {
			t.Errorf("%s: peak of %d bytes reserved, recorded %.0f (%+.2f %%)", s.ID, a.PeakReserved, row.Recorded.Reserved, 100*off)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}
