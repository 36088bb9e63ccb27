// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// measuredRun is a row of measured data: the setup and its recording.
type measuredRun struct {
	Setup setup.Setup `json:"setup"`
	Trace string      `json:"trace"`
}

// measuredFolder returns the folder of measured runs: the repository's, or the larger set in SNUG_TRUTH.
func measuredFolder() string {
	return cmp.Or(os.Getenv("SNUG_TRUTH"), "../../testdata/measured")
}

// measuredRuns reads the rows that have a recording from every .jsonl file of a
// folder. The repository does not contain all recordings.
func measuredRuns(t *testing.T, folder string) []measuredRun {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	var out []measuredRun
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			var r measuredRun
			if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := os.Stat(filepath.Join(folder, r.Trace)); r.Trace != "" && err == nil {
				out = append(out, r)
			}
		}
		f.Close()
	}
	return out
}

// moments returns a trace as a list of allocations, each with the sizes freed before it.
func moments(tr *stream.Trace, opAt func(event int) string) []moment {
	var out []moment
	var freed []uint64
	size := map[uint32]uint64{}
	queues := map[string]int{}
	for i, e := range tr.Events {
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = e.Size
			queue := 0
			if e.Queue > 0 {
				queue = order(queues, fmt.Sprint(e.Queue))
			}
			out = append(out, moment{op: opAt(i), size: e.Size, queue: queue, freed: sorted(freed)})
			freed = nil
		case stream.Free, stream.FreeRequested:
			freed = append(freed, size[e.ID])
		}
	}
	return append(out, moment{op: "end", freed: sorted(freed)})
}

// TestTraces compares whole simulated runs with recordings of the same runs, including loading. SNUG_TRUTH may name a
// folder with more recordings.
func TestTraces(t *testing.T) {
	folder := measuredFolder()
	runs := measuredRuns(t, folder)
	if len(runs) == 0 {
		t.Fatal("no recordings in " + folder)
	}
	for _, r := range runs {
		if m := r.Setup.Model; m.Name == "" && m.Config == nil {
			continue // custom code, which is never simulated
		}
		t.Run(r.Setup.ID, func(t *testing.T) {
			if d := r.Setup.Dist; d != nil && d.Kind == "ddp" {
				d.Mesh[setup.Data] = 1 // one rank in a group of one; this affects only the comparison of shapes
			}
			compareTrace(t, &r.Setup, filepath.Join(folder, r.Trace))
		})
	}
}

func compareTrace(t *testing.T, s *setup.Setup, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	want := moments(rec.Busiest().Trace, func(event int) string { return fmt.Sprintf("event %d", event) })
	want = afterConstant(want)
	got := simulatedRun(t, s, nil)
	if s.Precision == "amp-fp16" { // the first steps may have overflowed, depending on the values
		for n := 1; n <= s.Steps && !slices.EqualFunc(got, want, sameMoment); n++ {
			got = simulatedRun(t, s, slices.Repeat([]bool{true}, n))
		}
	}
	if s.Dist != nil && s.Dist.Kind == "ddp" {
		got, want = anyTime(got), anyTime(want)
	}
	compare(t, got, want)
}

// anyTime ignores when the largest allocation of a DDP run is freed. It is the first bucket, which the process
// group's watchdog may hold up to 100 ms longer than DDP itself.
func anyTime(m []moment) []moment {
	largest := slices.MaxFunc(m, func(a, b moment) int { return cmp.Compare(a.size, b.size) }).size
	for i := range m {
		m[i].freed = slices.DeleteFunc(m[i].freed, func(size uint64) bool { return size == largest })
	}
	return m
}

// afterConstant drops a constant that a library makes when it is imported. Some recordings contain it; others began
// later.
func afterConstant(m []moment) []moment {
	if m[0].size <= 4 {
		return m[1:]
	}
	return m
}

func sameMoment(a, b moment) bool {
	return a.size == b.size && a.queue == b.queue && slices.Equal(a.freed, b.freed)
}

func simulatedRun(t *testing.T, s *setup.Setup, skips []bool) []moment {
	t.Helper()
	return simulatedWith(t, s, Options{Skips: skips})
}

func simulatedWith(t *testing.T, s *setup.Setup, o Options) []moment {
	t.Helper()
	var ops []string
	var at []int
	o.Log = func(w *shadow.World, op string) {
		ops, at = append(ops, op), append(at, len(w.Trace.Events))
	}
	res, err := Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	return afterConstant(moments(res.World.Trace, func(event int) string {
		for k < len(at) && at[k] <= event {
			k++
		}
		if k == 0 {
			return ""
		}
		return ops[k-1]
	}))
}
