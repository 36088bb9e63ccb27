// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// TestDeepSpeed compares DeepSpeed's simulated allocations and frees, in order, with those of its code on the CPU
// (testdata/measured/deepspeed_cpu.py).
func TestDeepSpeed(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		least      uint64 // smallest size in bytes of the events that are compared
		without    string // part of the run that is simulated more simply
	}{
		{"zero1", "zero1-deepspeed", 1_200_000, ""},
		{"zero2", "zero2", 1_200_000, ""},
		{"zero3", "zero3", 1_200_000, "forward"}, // forward prefetches parameters
		{"init", "zero3", 200_000, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := recordedEvents(t, c.name, c.without)
			s := smallLlama()
			s.Dist, s.Accumulation, s.Steps = setup.Over(c.kind, 4), 3, 2
			got := ownEvents(t, s, c.least)
			if c.name == "init" { // the recording ends after loading
				got = got[:min(len(want), len(got))]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("DeepSpeed's events (-) and the simulated ones (+):\n%s", diff)
			}
		})
	}
}

// recordedEvents returns +bytes or -bytes for each event of a recording, without the named part.
func recordedEvents(t *testing.T, name, without string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/deepspeed/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	part := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if p, ok := strings.CutPrefix(line, "# "); ok {
			part = p
		} else if part != without {
			out = append(out, line)
		}
	}
	return out
}

// ownEvents returns the events of a simulated run in the same format. It omits those smaller than least, which
// include all of the model's own.
func ownEvents(t *testing.T, s *setup.Setup, least uint64) []string {
	t.Helper()
	res, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	size := map[uint32]uint64{}
	for _, e := range res.World.Trace.Events {
		switch {
		case e.Kind == stream.Alloc && e.Size >= least && res.World.Tag(e.ID).Component != shadow.Workspace:
			size[e.ID] = e.Size
			out = append(out, fmt.Sprintf("+%d", e.Size))
		case e.Kind == stream.Free && size[e.ID] > 0:
			out = append(out, fmt.Sprintf("-%d", size[e.ID]))
		}
	}
	return out
}
