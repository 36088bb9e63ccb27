// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
)

// Two sizes pass through all stages: they are bound, run, collected, fitted and kept.
func TestRun(t *testing.T) {
	w := &world{t: t, train: trains(t)}
	var events []string
	env := w.env()
	env.Events.Started = func(x *Trial, n, of int) { events = append(events, "started "+x.CommandLine()) }
	env.Events.Ended = func(x *Trial) { events = append(events, "ended"+x.AtSize()) }
	dir := t.TempDir()
	out, keep := filepath.Join(dir, "memory.snug"), filepath.Join(dir, "kept")
	r, err := Run(context.Background(), env, Plan{
		Command: []string{"train", "--batch", "{batch}", "--hf_token", "hf_abcdefghijklmnop"}, Sizes: batches(64, 96), Steps: 3, Stacks: true, Out: out, Keep: keep,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.checkClean(env.TempDir)
	want := []string{
		"started train --batch 64 --hf_token ***", "ended at batch=64",
		"started train --batch 96 --hf_token ***", "ended at batch=96",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	file, err := os.Open(r.Profile)
	if err != nil || r.Profile != out {
		t.Fatal(r.Profile, err)
	}
	defer file.Close()
	program, err := profile.Read(file)
	if err != nil || program.Card != "NVIDIA H200" || !program.Facts.Stacks || len(program.Facts.Timings) != 2 {
		t.Errorf("%v: %q, %+v", err, program.Card, program.Facts)
	}
	if diff := cmp.Diff([]string{filepath.Join(keep, "batch=64.pickle"), filepath.Join(keep, "batch=96.pickle")}, r.Kept); diff != "" {
		t.Error(diff)
	}
	if kept, err := os.ReadFile(r.Kept[1]); err != nil || string(kept) != recording(t, "96") {
		t.Errorf("what was kept is not the recording: %v", err)
	}
	if len(w.rows) != 2 || w.rows[0].At != 1_700_000_000 || w.rows[0].Size != "batch=64" || w.rows[1].Reserved != 96_000_000 || w.rows[0].Card != "H200" || w.rows[0].Torch != "2.11.0" {
		t.Errorf("%+v", w.rows)
	}
	if strings.Contains(w.rows[0].Model, "abcdef") || w.rows[0].StepSeconds != 0 {
		t.Errorf("%+v", w.rows[0])
	}
}

// What was recorded before a run failed is kept, and the error says where.
func TestRunFailsAfterKeeping(t *testing.T) {
	w := &world{t: t, train: func(j *job) run.Exit {
		if j.value("--batch") == "64" {
			return trains(t)(j)
		}
		return run.Exit{Code: 7}
	}}
	env, keep := w.env(), filepath.Join(t.TempDir(), "kept")
	_, err := Run(context.Background(), env, Plan{
		Command: []string{"train", "--batch", "{batch}"}, Sizes: batches(64, 96), Steps: 3, Out: filepath.Join(t.TempDir(), "memory.snug"), Keep: keep,
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 7 || !strings.HasSuffix(err.Error(), "failed with exit code 7; "+filepath.Join(keep, "batch=64.pickle")+" is kept") {
		t.Error(err)
	}
	if len(w.rows) != 0 {
		t.Errorf("remembered %+v", w.rows)
	}
	w.checkClean(env.TempDir)
}

// If recording stacks may have broken a run, all sizes are recorded again without stacks.
func TestRunWithoutStacks(t *testing.T) {
	runs := 0
	w := &world{t: t, train: func(j *job) run.Exit {
		runs++
		settings, _ := os.ReadFile(filepath.Join(j.folder, "probe.json"))
		if j.value("--batch") == "96" && strings.Contains(string(settings), `"stacks":true`) {
			j.tell(`start "time":1, "pid":7`, `torch "versions":{"torch":"2.11.0"}`, `step "n":1`)
			return run.Exit{Code: 139}
		}
		return trains(t)(j)
	}}
	r, err := Run(context.Background(), w.env(), Plan{
		Command: []string{"train", "--batch", "{batch}"}, Sizes: batches(64, 96), Steps: 3, Stacks: true, Out: filepath.Join(t.TempDir(), "memory.snug"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if runs != 4 || len(r.Trials) != 2 || r.Trials[0].Stacks || r.Program.Facts.Stacks {
		t.Errorf("%d runs, %+v", runs, r.Trials[0])
	}
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "with --stacks the command failed (the command failed with exit code 139 at batch=96 after 1 of 3 steps); ") {
		t.Error(r.Notes)
	}
	if w.rows[0].StepSeconds != 0.05 {
		t.Errorf("%+v", w.rows[0])
	}
}

// A store that cannot be written only adds a note; the measurement is kept.
func TestStoreFails(t *testing.T) {
	w := &world{t: t, train: trains(t), noStore: errors.New("no room")}
	r, err := w.open(Plan{Command: []string{"train", "--batch", "64"}, Sizes: []profile.Point{{}}, Steps: 3}).Record(context.Background())
	if err != nil || r.Profile != "" || len(r.Trials) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"not saved in snug history: no room"}, r.Notes); diff != "" {
		t.Error(diff)
	}
}

func reference() *Reference {
	return NewReference(map[string]any{
		"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 128.0, "versions": map[string]any{"torch": "2.6.0", "bitsandbytes": "0.49.0"},
	}, setup.Source{})
}

// Each run is stored with the setup at its own size.
func TestSetupsAreOfTheirRuns(t *testing.T) {
	w := &world{t: t, train: trains(t)}
	ref := reference()
	_, err := w.open(Plan{
		Command: []string{"train", "--batch", "{batch}"}, Sizes: batches(64, 96), Steps: 3, Reference: ref, Out: filepath.Join(t.TempDir(), "memory.snug"),
	}).Record(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, batch := range []string{`"batch":64`, `"batch":96`} {
		if row := w.rows[i]; !strings.Contains(row.Setup, batch) || !strings.Contains(row.Setup, `"versions":{"bitsandbytes":"0.49.0","torch":"2.11.0"}`) || row.Predicted == 0 {
			t.Errorf("at %s: %s", row.Size, row.Setup)
		}
	}
	if diff := cmp.Diff(reference().fields, ref.fields); diff != "" {
		t.Errorf("the plan's own setup was changed: %s", diff)
	}
}

// A run that reports no GPU, for example because the probe failed, can still be compared.
func TestCompareWithoutGPU(t *testing.T) {
	w := &world{t: t, train: func(j *job) run.Exit {
		write(t, filepath.Join(j.folder, "7.pickle"), "")
		j.tell(`start "time":1, "pid":7`, `torch "versions":{"torch":"2.11.0"}`, `step "n":1, "peak_reserved":4000000`, `snapshot "file":"7.pickle"`, `end "why":"steps"`)
		return run.Exit{}
	}}
	r, err := w.open(Plan{Command: []string{"train"}, Sizes: []profile.Point{{}}, Steps: 1, Reference: reference()}).Record(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.Trials[0].Comparison == nil || len(r.Notes) > 0 || w.rows[0].Card != "" || w.rows[0].Predicted == 0 {
		t.Errorf("%+v, %v, %+v", r.Trials[0].Comparison, r.Notes, w.rows[0])
	}
	if !r.FarApart() {
		t.Error("4 MB was read as gpt2")
	}
}
