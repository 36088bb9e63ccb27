// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
	"snug/internal/snapshot"
)

// standinObjective is a run that compares answers, which the real libraries ran on the stand-in for a GPU
// (testdata/standin), and the setup of the same run.
type standinObjective struct {
	ID        string         `json:"id"`
	Setup     map[string]any `json:"setup"`
	Reserved  float64        `json:"reserved_within"`  // limit in percent, if blocks are placed differently; the default is 0.5
	Allocated float64        `json:"allocated_within"` // limit in percent, if DeepSpeed or FSDP gathers at other times; the default is 0.2
	Recorded  struct {
		Allocated, Reserved uint64
	} `json:"recorded"`
}

// standinObjectives returns the rows of testdata/loops/standin_objectives.jsonl, or of the file in SNUG_STANDIN_OBJECTIVES.
func standinObjectives(t *testing.T) (out []standinObjective) {
	path := filepath.Join(loopsDir, "standin_objectives.jsonl")
	if other := os.Getenv("SNUG_STANDIN_OBJECTIVES"); other != "" {
		path = other
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row standinObjective
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// setup returns the row's setup. Its model is one of testdata/loops/models, saved in bfloat16.
func (row standinObjective) setup(t *testing.T) *setup.Setup {
	t.Helper()
	name, _ := row.Setup["model"].(string)
	raw, err := os.ReadFile(filepath.Join(loopsDir, "models", name, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	config["dtype"] = "bfloat16"
	row.Setup["model"] = map[string]any{"config": config}
	s, err := decoded(t, row.Setup)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStandinObjectives compares loops that compare answers with runs of the real libraries on the stand-in.
func TestStandinObjectives(t *testing.T) {
	for _, row := range standinObjectives(t) {
		t.Run(row.ID, func(t *testing.T) {
			s := row.setup(t)
			if dir := os.Getenv("SNUG_STANDIN_SNAPSHOTS"); dir != "" {
				compareSnapshot(t, s, filepath.Join(dir, row.ID+".pickle.gz"))
			}
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			peaks := played(t, res)
			off := func(got, want uint64) float64 { return 100 * (float64(got)/float64(want) - 1) }
			reserved, allocated := off(peaks.PeakReserved, row.Recorded.Reserved), off(peaks.PeakAllocated, row.Recorded.Allocated)
			if math.Abs(reserved) > max(row.Reserved, 0.5) || math.Abs(allocated) > max(row.Allocated, 0.2) {
				t.Errorf("reserved bytes are off by %+.2f %%, allocated bytes by %+.2f %%", reserved, allocated)
			}
			t.Logf("allocated %+.3f %%, reserved %+.3f %% %v", allocated, reserved, s.Script.Notes())
		})
	}
}

// compareSnapshot compares a run with a memory snapshot, event by event.
func compareSnapshot(t *testing.T, s *setup.Setup, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	d := rec.Busiest()
	want := afterConstant(moments(d.Trace, func(event int) string { return frames(rec, d, event) }))
	want, got := inTraining(t, want[:len(want)-1], simulatedWith(t, s, Options{}))
	want, got = large(want), large(got)
	n := min(len(want), len(got)-1) // the simulated run may be shorter
	compare(t, got[:n], want[:n])
}

// large returns the moments of at least 64 KiB, with what was freed before them: small tensors differ between versions
// of transformers.
func large(of []moment) (out []moment) {
	var freed []uint64
	for _, m := range of {
		for _, n := range m.freed {
			if n >= 1<<16 {
				freed = append(freed, n)
			}
		}
		if m.size < 1<<16 {
			continue
		}
		slices.Sort(freed)
		m.freed, freed = freed, nil
		out = append(out, m)
	}
	return out
}

// inTraining returns both streams from the first training step on: libraries load models in different ways.
func inTraining(t *testing.T, want, got []moment) ([]moment, []moment) {
	t.Helper()
	from := slices.IndexFunc(want, func(m moment) bool { return strings.Contains(m.op, "training_step") })
	for i := range got {
		if i+5 <= len(got) && slices.EqualFunc(got[i:i+5], want[from:from+5], func(a, b moment) bool { return a.size == b.size }) {
			want, got = want[from:], got[i:]
			want[0].freed, got[0].freed = nil, nil
			return want, got
		}
	}
	for i := range 5 {
		t.Logf("%d bytes in %s", want[from+i].size, want[from+i].op)
	}
	t.Fatal("the first step's allocations were not found")
	return nil, nil
}
