// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"snug/internal/setup"
	"snug/internal/stream"
)

// TestRequestedPeaks compares the peak of requested bytes in the last step with the measurements. It needs no
// allocator, so any difference is in the stream.
func TestRequestedPeaks(t *testing.T) {
	for _, row := range measuredRows(t) {
		if row.Setup.Dist != nil || row.Measured.Requested == 0 {
			continue
		}
		t.Run(row.Setup.ID, func(t *testing.T) {
			want := int64(row.Measured.Requested)
			off := peakOff(t, &row.Setup, nil, want)
			if row.Setup.Precision == "amp-fp16" && off != 0 { // an overflow may have skipped every update
				off = peakOff(t, &row.Setup, slices.Repeat([]bool{true}, row.Setup.Steps), want)
			}
			if off != 0 {
				t.Errorf("the peak of requested bytes is off by %+d of %d", off, want)
			}
		})
	}
}

// measuredRow is a setup and its measured peak of requested bytes.
type measuredRow struct {
	Setup    setup.Setup `json:"setup"`
	Measured struct {
		Requested uint64 `json:"requested_peak"`
	} `json:"measured"`
}

// measuredRows returns the rows of dev.jsonl with models that snug supports.
func measuredRows(t *testing.T) (rows []measuredRow) {
	t.Helper()
	f, err := os.Open(filepath.Join(measuredFolder(), "dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var row measuredRow
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if m := row.Setup.Model; m.Config != nil || m.Name != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// peakOff returns how far the simulated peak is off.
func peakOff(t *testing.T, s *setup.Setup, skips []bool, want int64) int64 {
	t.Helper()
	res, err := Run(s, Options{Skips: skips})
	if err != nil {
		t.Fatal(err)
	}
	return int64(requestedPeak(res.World.Trace)) - want
}

// requestedPeak returns the peak over the last step.
func requestedPeak(tr *stream.Trace) uint64 {
	last := 0
	for i, e := range tr.Events {
		if e.Kind == stream.Mark && e.ID == Forward {
			last = i
		}
	}
	size := map[uint32]uint64{}
	var now, peak uint64
	for i, e := range tr.Events {
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = e.Size
			now += e.Size
		case stream.Free:
			now -= size[e.ID]
		}
		if i >= last {
			peak = max(peak, now)
		}
	}
	return peak
}
