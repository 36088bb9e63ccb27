// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestCompiledRuns checks that the effect of torch.compile on measured runs is within the interval's allowance.
func TestCompiledRuns(t *testing.T) {
	f, err := os.Open("../../testdata/loops/measured_compile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	eager, compiled := map[string]float64{}, map[string]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct {
			ID       string
			Measured struct{ Reserved float64 }
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		kind, run, _ := strings.Cut(row.ID, "-")
		map[string]map[string]float64{"eager": eager, "compile": compiled}[kind][run] = row.Measured.Reserved
	}
	if len(compiled) != 11 || len(eager) != 11 {
		t.Fatalf("only %d compiled and %d eager runs", len(compiled), len(eager))
	}
	for run, got := range compiled {
		if share := got/eager[run] - 1; share < -compiledLess || share > compiledMore {
			t.Errorf("%s: torch.compile changes memory by %+.1f %%, more than the allowance", run, 100*share)
		}
	}
}
