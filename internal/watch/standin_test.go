// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestStandinRecordings checks leaks of all kinds with varying lengths, with PyTorch's own allocator on the stand-in for the GPU. In
// most, the cache splits: memory runs out with up to a third of it reserved but not allocated.
func TestStandinRecordings(t *testing.T) {
	files, err := filepath.Glob("../../testdata/watch/standin/*.jsonl.gz")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	var all score
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		events := recording(t, "standin/"+name)
		oom := 0
		for _, e := range events {
			if e.Kind == KindStep {
				oom = e.Step.N + 1
			}
		}
		s := scored(events, 0, oom)
		all.add(s)
		if s.seen == 0 || s.seen > 80 || s.lost > 0 {
			t.Errorf("%s: seen at step %d of %d, not reported in %d", name, s.seen, oom, s.lost)
		}
		if s.off > 0 {
			t.Logf("%s, out of memory at %d: %d of %d forecasts are off", name, oom, s.off, s.half)
		}
	}
	all.check(t, 0.15)
}
