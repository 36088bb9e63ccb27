// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/watch"
)

// TestTorchCommand runs a training script with the probe: real PyTorch, but simulated memory figures.
func TestTorchCommand(t *testing.T) {
	python := os.Getenv("SNUG_TEST_PYTHON")
	if python == "" {
		t.Skip("no PyTorch: export SNUG_TEST_PYTHON=$(.ci/torch)")
	}
	var out, errs bytes.Buffer
	c := &Command{Args: []string{python, "testdata/train.py"}, Env: os.Environ(), Stdout: &out, Stderr: &errs, TempDir: t.TempDir()}
	var events []watch.Event
	err := Run(context.Background(), Config{Sources: []gpu.SampledSource{newFake(used(10))}, Interval: 100 * time.Millisecond, Command: c}, func(e watch.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	if c.Outcome.Exit.Code != 0 {
		t.Fatalf("exit code %d\n%s", c.Outcome.Exit.Code, errs.String())
	}
	for _, r := range c.Outcome.Reports {
		for _, f := range r.Failures {
			t.Errorf("probe: %s: %s", f.Where, f.What)
		}
	}
	if want := "peak 249\n"; out.String() != want {
		t.Errorf("the program printed %q, want %q", out.String(), want)
	}
	checkStarted(t, events)
	checkSteps(t, events)
}

// TestTorchRanks runs the training under torchrun, where each process reports its rank.
func TestTorchRanks(t *testing.T) {
	python := os.Getenv("SNUG_TEST_PYTHON")
	if python == "" {
		t.Skip("no PyTorch: export SNUG_TEST_PYTHON=$(.ci/torch)")
	}
	var errs bytes.Buffer
	c := &Command{
		Args: []string{python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "testdata/train.py"},
		Env:  os.Environ(), Stdout: &errs, Stderr: &errs, TempDir: t.TempDir(),
	}
	w := watch.New(watch.Options{})
	err := Run(context.Background(), Config{Sources: []gpu.SampledSource{newFake(used(10))}, Interval: 100 * time.Millisecond, Command: c}, func(e watch.Event) { w.Add(e) })
	if err != nil || c.Outcome.Exit.Code != 0 {
		t.Fatalf("%v, exit code %d\n%s", err, c.Outcome.Exit.Code, errs.String())
	}
	ranks := w.Now().Ranks
	if len(ranks) != 2 || ranks[0].Rank == nil || *ranks[0].Rank != 0 || *ranks[1].Rank != 1 {
		t.Fatalf("ranks: %+v", ranks)
	}
	if ranks[0].Reserved != 200<<20 || ranks[1].Reserved != 200<<20 || ranks[0].Above != 0 {
		t.Errorf("ranks: %+v", ranks)
	}
}

// checkStarted checks the first events: the card, and its cap.
func checkStarted(t *testing.T, events []watch.Event) {
	t.Helper()
	starts, limits := kinds(events, watch.KindStart), kinds(events, watch.KindLimit)
	if len(starts) != 2 || !starts[0].Own || starts[1].Total != 1<<30 || starts[1].PID == 0 {
		t.Errorf("starts: %+v", starts)
	}
	if len(limits) != 1 || limits[0].Limit != 1<<29 {
		t.Errorf("limits: %+v", limits)
	}
}

// checkSteps checks that each step and each evaluation batch was reported, with its own peak.
func checkSteps(t *testing.T, events []watch.Event) {
	t.Helper()
	const m = 1 << 20
	steps := kinds(events, watch.KindStep)
	if len(steps) != 40+8 {
		t.Fatalf("%d steps", len(steps))
	}
	tenth, eval := steps[9].Step, steps[10].Step
	if tenth.Wait == nil {
		t.Error("the time spent waiting for data is missing")
	}
	tenth.Wait, eval.Wait = nil, nil
	want := watch.Step{N: 10, Phase: watch.Train, Shape: []int{12, 8}, Allocated: 110 * m, Reserved: 200 * m, PeakAllocated: 189 * m, PeakReserved: 200 * m}
	if diff := cmp.Diff(want, tenth); diff != "" {
		t.Errorf("step 10 (-want +got):\n%s", diff)
	}
	want = watch.Step{N: 10, Phase: watch.Eval, Shape: []int{30, 8}, Allocated: 110 * m, Reserved: 200 * m, PeakAllocated: 110 * m, PeakReserved: 200 * m}
	if diff := cmp.Diff(want, eval); diff != "" {
		t.Errorf("evaluation (-want +got):\n%s", diff)
	}
}
