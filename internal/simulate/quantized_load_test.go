// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestQuantizedLoad compares the loading of a model with 8-bit weights with recordings on the stand-in, event by event,
// except for the memory that from_pretrained allocates and frees at first: the recorded models are too small for that.
func TestQuantizedLoad(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/standin/ops/int8-*.txt.gz")
	if len(files) == 0 {
		t.Fatal("no recordings found")
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt.gz"), func(t *testing.T) {
			c, want, skips := readOps(t, f)
			got := simulated(t, caseSetup(c), Options{Skips: skips, Standin: true})
			compare(t, weightsOf(got), weightsOf(want))
		})
	}
}

// weightsOf returns the loading of the model from its first weight, without the frequencies of rotary embeddings, whose
// time is not compared.
func weightsOf(m []moment) (out []moment) {
	const first, frequencies = 1000 * 256 * 2, 128
	for _, e := range m[:len(m)-len(fromFirstStep(m))] {
		if e.size == first && len(out) == 0 {
			e.freed = nil
		}
		if e.size != frequencies && (e.size == first || len(out) > 0) {
			out = append(out, e)
		}
	}
	return out
}
