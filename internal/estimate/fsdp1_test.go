// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// TestFSDP1Peaks compares estimates for FSDP1 with the runs in testdata/measured/fsdp_ops.py: with hand-written
// loops and with accelerate, in float32, bfloat16 and mixed precision, with PEFT's LoRA, over 1 to 8 GPUs. The
// remaining errors come from blocks that the allocator did not split, which depends on the order in which streams
// free memory.
func TestFSDP1Peaks(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "testdata", "measured", "fsdp1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	card, err := gpu.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(f)
	rows := 0
	for sc.Scan() {
		var row struct {
			Setup    map[string]any
			Measured struct {
				Allocated float64 `json:"peak_allocated"`
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		s, err := setup.Decode(row.Setup, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Figures(s, card)
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(a.PeakAllocated)/row.Measured.Allocated - 1; math.Abs(off) > 0.008 {
			t.Errorf("%s: peak of %d bytes allocated, measured %.0f (%+.2f %%)", s.ID, a.PeakAllocated, row.Measured.Allocated, 100*off)
		}
		rows++
	}
	if rows < 40 {
		t.Errorf("only %d runs compared", rows)
	}
}
