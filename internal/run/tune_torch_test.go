// SPDX-License-Identifier: Apache-2.0

package run

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A run that is only measured ends early once its steps take the same time, at the same step on every rank.
func TestTorchSteady(t *testing.T) {
	py := python(t)
	measure := Settings{Steps: 1000, Measure: true, Steady: 0.5}
	got, out, o := watchRun(t, measure, nil, py, "steady.py")
	if got.Code != 0 || got.Failures > 0 || len(got.Trained) != 1 || got.Trained[0] < 8 || got.Trained[0] >= 1000 || strings.Contains(out, "all steps") {
		t.Errorf("%+v, it printed %q", got, out)
	}
	if x := o.Reports[len(o.Reports)-1]; len(x.StepTimes()) != got.Trained[0]-1 || x.Snapshot != nil || x.State == nil {
		t.Errorf("%d times of %d steps; %+v", len(x.StepTimes()), got.Trained[0], x)
	}
	got, out, _ = watchRun(t, Settings{Steps: 20, Measure: true, Steady: 1e-9}, nil, py, "steady.py")
	if diff := cmp.Diff(ran{Trained: []int{20}, Ends: []string{"steps"}}, got); diff != "" {
		t.Errorf("a run that is never steady should continue to its last step: %s\n%s", diff, out)
	}
	got, out, _ = watchRun(t, measure, nil, filepath.Join(filepath.Dir(py), "torchrun"), "--standalone", "--nproc_per_node", "2", "steady_ranks.py")
	if got.Code != 0 || got.Failures > 0 || len(got.Trained) != 2 || got.Trained[0] != got.Trained[1] || got.Trained[0] >= 1000 {
		t.Errorf("two ranks: %+v, they printed %q", got, out)
	}
}

// On a GPU nothing is recorded, the limit is set once, times come from the GPU's clock, and the run ends two steps
// after times and peak have become steady.
func TestTorchMeasuredGPU(t *testing.T) {
	got, _, o := watchRun(t, Settings{Steps: 100, Measure: true, Limit: 40, Steady: 0.01, NeedsGPU: true}, nil, python(t), "fake_cuda.py", "100")
	if diff := cmp.Diff(ran{Trained: []int{11}, Ends: []string{"steps"}}, got); diff != "" {
		t.Error(diff)
	}
	x := o.Reports[len(o.Reports)-1]
	if x.Snapshot != nil || x.Peaks == nil || x.Peaks.PeakReserved != 40 || len(x.Times) != 10 || x.OOM == nil || x.OOM.Asked != 7 {
		t.Errorf("%+v", x)
	}
	_, out, _ := watchRun(t, Settings{Steps: 3, Measure: true, Limit: 40, KeepRunning: true}, nil, python(t), "fake_cuda.py", "5")
	if strings.Count(out, "fraction 0.4 of 0\n") != 1 || strings.Contains(out, "history") {
		t.Errorf("the limit is not set once, or it was recorded: %s", out)
	}
}

// The longest samples come first, once, and replace one of the loader's batches; the other batches follow.
func TestTorchLongestFirst(t *testing.T) {
	py := python(t)
	_, plain, _ := watchRun(t, Settings{Steps: 100, Measure: true}, nil, py, "lengths.py")
	got, out, o := watchRun(t, Settings{Steps: 100, Measure: true, WorstFirst: true}, nil, py, "lengths.py")
	if got.Failures > 0 || len(got.Trained) != 1 || got.Trained[0] != 10 {
		t.Errorf("%+v", got)
	}
	_, rest, _ := strings.Cut(plain, "\n")
	if want := "[4, 40] 154\n" + rest; out != want {
		t.Errorf("it printed\n%s, want\n%s", out, want)
	}
	want := &Longest{Looked: 40, Samples: 40, Shapes: [][]int{{4, 40}}}
	if diff := cmp.Diff(want, o.Reports[len(o.Reports)-1].Longest); diff != "" {
		t.Error(diff)
	}
}
