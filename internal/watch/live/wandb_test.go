// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snug/internal/gpu"
	"snug/internal/watch"
)

// TestTorchWandB runs a program that logs to the real Weights & Biases, offline, and reads the log with wandb's own reader:
// the probe's numbers are in the lines that the program logs, and there are no additional lines.
func TestTorchWandB(t *testing.T) {
	python := os.Getenv("SNUG_TEST_WANDB")
	if python == "" {
		t.Skip("no Weights & Biases: export SNUG_TEST_WANDB=$(.ci/wandb)")
	}
	folder := t.TempDir()
	var out bytes.Buffer
	c := &Command{
		Args: []string{python, "testdata/wandb_train.py", folder, "testdata/train.py"}, WandB: true,
		Env: append(os.Environ(), "WANDB_MODE=offline", "WANDB_CACHE_DIR="+folder, "WANDB_CONFIG_DIR="+folder, "WANDB_DATA_DIR="+folder), Stdout: &out, Stderr: &out, TempDir: t.TempDir(),
	}
	var events []watch.Event
	err := Run(context.Background(), Config{Sources: []gpu.SampledSource{newFake(used(10))}, Interval: 100 * time.Millisecond, Command: c}, func(e watch.Event) { events = append(events, e) })
	if err != nil || c.Outcome.Exit.Code != 0 {
		t.Fatalf("%v, exit code %d\n%s", err, c.Outcome.Exit.Code, out.String())
	}
	for _, r := range c.Outcome.Reports {
		for _, f := range r.Failures {
			t.Errorf("probe: %s: %s", f.Where, f.What)
		}
	}
	lines := wandbHistory(t, python, folder)
	if len(lines) != 40 {
		t.Fatalf("%d lines, want one per step, 40\n%s", len(lines), out.String())
	}
	checkLogged(t, lines, kinds(events, watch.KindStep))
}

// wandbHistory returns the lines of the only run in a folder.
func wandbHistory(t *testing.T, python, folder string) (out []map[string]any) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "wandb", "offline-run-*", "*.wandb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("runs: %v, %v", found, err)
	}
	text, err := exec.Command(python, "testdata/wandb_read.py", found[0]).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		var x map[string]any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, x)
	}
	return out
}

// checkLogged checks that about one line per second has the numbers of its step.
func checkLogged(t *testing.T, lines []map[string]any, steps []watch.Event) {
	t.Helper()
	byStep := map[int]watch.Step{}
	for _, e := range steps {
		if e.Step.Phase == watch.Train {
			byStep[e.Step.N] = e.Step
		}
	}
	logged, evaluations := 0, 0
	for i, x := range lines {
		if x["loss"] == nil {
			t.Errorf("line %d has no loss: %v", i, x)
		}
		if x["snug/allocated_bytes"] == nil {
			continue
		}
		logged++
		if x["snug/evaluation_peak_allocated_bytes"] != nil {
			evaluations++
		}
		s := byStep[i+1]
		got := [4]any{x["snug/allocated_bytes"], x["snug/reserved_bytes"], x["snug/peak_allocated_bytes"], x["snug/peak_reserved_bytes"]}
		if want := [4]any{float64(s.Allocated), float64(s.Reserved), float64(s.PeakAllocated), float64(s.PeakReserved)}; got != want {
			t.Errorf("line %d: got %v, want %v", i, got, want)
		}
	}
	if logged < 3 || logged == len(lines) {
		t.Errorf("%d of %d lines have memory, want about one per second", logged, len(lines))
	}
	if evaluations == 0 || evaluations > 4 {
		t.Errorf("%d lines have an evaluation's memory; there are 4 evaluations", evaluations)
	}
}
