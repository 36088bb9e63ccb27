// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests in this file run real PyTorch, on the CPU. .ci/torch creates a Python environment with it.

func python(t *testing.T) string {
	t.Helper()
	p := os.Getenv("SNUG_TEST_PYTHON")
	if p == "" {
		t.Skip("no PyTorch: export SNUG_TEST_PYTHON=$(.ci/torch)")
	}
	return p
}

// ran is the part of an outcome that tests compare.
type ran struct {
	Code     int
	Trained  []int    // steps of each process that trained
	Ends     []string // how each of them ended
	Failures int      // the probe's own failures
}

// watchRun runs a script from testdata under the probe.
func watchRun(t *testing.T, s Settings, env []string, args ...string) (ran, string, *Outcome) {
	t.Helper()
	f, err := NewFolder(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	session := Session{Args: args, Dir: "testdata", Env: append(os.Environ(), env...), Stdout: &out, Stderr: &bytes.Buffer{}, Timeout: 3 * time.Minute}
	o, err := session.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if o.TimedOut {
		t.Fatalf("timed out; it printed\n%s", o.Tail)
	}
	got := ran{Code: o.Exit.Code}
	for _, r := range o.Reports {
		got.Failures += len(r.Failures)
		for _, x := range r.Failures {
			t.Logf("probe: %s: %s", x.Where, x.What)
		}
		if r.Trained() {
			got.Trained = append(got.Trained, len(r.Steps))
			got.Ends = append(got.Ends, r.End)
		}
	}
	if left := marked(f.Path); len(left) > 0 {
		t.Errorf("processes left behind: %v", left)
	}
	return got, out.String(), o
}

// A command that overwrites PYTHONPATH loses the probe, which snug notices.
func TestUnprobed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other processes are not looked into here")
	}
	py := python(t)
	for line, want := range map[string]bool{
		"PYTHONPATH=/nowhere " + py + " -c 'import torch, time; time.sleep(3)'":                      true,
		"PYTHONPATH=/nowhere " + py + " -c 'import time; time.sleep(3)'":                             false,
		"PYTHONPATH=/nowhere:$PYTHONPATH " + py + " -c 'import torch, time; time.sleep(3)'":          false,
		"PYTHONPATH=/nowhere " + py + " -c 'import torch, time; time.sleep(2)'; " + py + " plain.py": false,
	} {
		if _, _, o := watchRun(t, Settings{Steps: 3}, nil, "sh", "-c", line); o.Unprobed != want {
			t.Errorf("%s: unprobed %v", line, o.Unprobed)
		}
	}
}

func TestTorch(t *testing.T) {
	py := python(t)
	bin := func(name string) string { return filepath.Join(filepath.Dir(py), name) }
	three := Settings{Steps: 3}
	for _, x := range []struct {
		name     string
		settings Settings
		env      []string
		args     []string
		want     ran
		prints   string
	}{
		{"plain", three, nil, []string{py, "plain.py"}, ran{Trained: []int{3}, Ends: []string{"steps"}}, "step 1\nstep 2\n"},
		{"keeps running", Settings{Steps: 2, KeepRunning: true}, nil, []string{py, "plain.py"},
			ran{Trained: []int{2}, Ends: []string{"steps"}}, "done\n"},
		{"crash", three, nil, []string{py, "crash.py"}, ran{Code: 1, Trained: []int{1}, Ends: []string{"exit"}}, ""},
		{"os._exit", three, nil, []string{py, "hard_exit.py"}, ran{Code: 7, Trained: []int{2}, Ends: []string{""}}, "step 2\n"},
		{"spawned", three, nil, []string{py, "spawn.py"},
			ran{Trained: []int{3, 3}, Ends: []string{"steps", "steps"}}, "parent goes on\n"},
		{"forked", three, nil, []string{py, "fork.py"}, ran{Trained: []int{3}, Ends: []string{"steps"}}, ""},
		{"no step", three, nil, []string{py, "no_step.py"}, ran{}, "3.0\n"},
		{"garbage", three, nil, []string{py, "garbage.py"}, ran{Trained: []int{3}, Ends: []string{"steps"}}, "\xfe\xff"},
		{"swallows", three, nil, []string{py, "swallow.py"}, ran{Trained: []int{3}, Ends: []string{"steps"}}, "caught\ncaught\n"},
		{"two optimizers", three, nil, []string{py, "two_optimizers.py"},
			ran{Trained: []int{3}, Ends: []string{"steps"}}, "round 2\n"},
		{"deepspeed's engine", three, nil, []string{py, "engine.py"}, ran{Trained: []int{3}, Ends: []string{"steps"}}, "micro step 5\n"},
		{"shell script", three, nil, []string{"sh", "-c", py + " plain.py; exit 4"},
			ran{Code: 4, Trained: []int{3}, Ends: []string{"steps"}}, ""},
		{"torchrun", three, nil, []string{bin("torchrun"), "--standalone", "--nproc_per_node", "2", "ranks.py"},
			ran{Trained: []int{3, 3}, Ends: []string{"steps", "steps"}}, ""},
		{"accelerate", three, nil, []string{bin("accelerate"), "launch", "--cpu", "--num_processes", "1", "accelerated.py"},
			ran{Trained: []int{3}, Ends: []string{"steps"}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, out, o := watchRun(t, x.settings, x.env, x.args...)
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, o.Tail)
			}
			if !strings.Contains(out, x.prints) {
				t.Errorf("printed %q, want %q in it", out, x.prints)
			}
		})
	}
}

func TestTorchDetails(t *testing.T) {
	_, _, o := watchRun(t, Settings{Steps: 3}, nil, python(t), "plain.py", "6")
	r := o.Reports[0]
	if r.Versions["torch"] == "" || r.Versions["python"] == "" || !r.NoGPU {
		t.Errorf("versions %v, no GPU %v", r.Versions, r.NoGPU)
	}
	want := []Batch{{Module: "Sequential", Inputs: []Input{{Name: "0", Shape: []int{6, 8}, Dtype: "float32", Device: "cpu"}}}}
	if diff := cmp.Diff(want, r.Batches[:1]); diff != "" {
		t.Errorf("batch (-want +got)\n%s", diff)
	}
	if s := r.Steps[1]; s.Optimizer != "AdamW" || s.Backwards != 2 {
		t.Errorf("step %+v", s)
	}
	// 8·16+16+16·2+2 parameters of four bytes; two states and a counter each for AdamW.
	wantState := &State{Parameters: 712, Gradients: 712, Optimizer: 2*712 + 16, Params: 178, Trainable: 178, Dtypes: map[string]int{"float32": 178}}
	if diff := cmp.Diff(wantState, r.State); diff != "" {
		t.Errorf("state (-want +got)\n%s", diff)
	}
}

// A run without a GPU ends when it begins to train, in every process and even if the exception is caught, but not if
// it should keep running.
func TestTorchWithoutGPU(t *testing.T) {
	py := python(t)
	for _, x := range []struct {
		name     string
		settings Settings
		args     []string
		ended    int // processes that the probe ended
		trained  []int
		prints   string
	}{
		{"ends", Settings{Steps: 3, NeedsGPU: true}, []string{py, "plain.py"}, 1, nil, ""},
		{"keeps running", Settings{Steps: 3, NeedsGPU: true, KeepRunning: true}, []string{py, "plain.py"}, 0, []int{3}, "done\n"},
		{"swallows", Settings{Steps: 3, NeedsGPU: true}, []string{py, "swallow.py"}, 1, nil, "caught\n"},
		{"ranks", Settings{Steps: 3, NeedsGPU: true}, []string{filepath.Join(filepath.Dir(py), "torchrun"), "--standalone", "--nproc_per_node", "2", "ranks.py"}, 2, nil, ""},
		{"none to see", Settings{Steps: 3, NeedsGPU: true}, []string{py, "built_for_cuda.py"}, 1, nil, ""},
		{"hidden by the command", Settings{Steps: 3, NeedsGPU: true, HasGPU: true}, []string{py, "built_for_cuda.py"}, 0, []int{3}, "step 2\n"},
		{"pretended GPU", Settings{Steps: 3, NeedsGPU: true}, []string{py, "fake_cuda.py", "10"}, 0, []int{3}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, out, o := watchRun(t, x.settings, nil, x.args...)
			ended := 0
			for _, r := range o.Reports {
				if r.End == "nogpu" && r.NoGPU {
					ended++
				}
			}
			if ended != x.ended || !cmp.Equal(got.Trained, x.trained) || got.Code != 0 || got.Failures > 0 || !strings.Contains(out, x.prints) {
				t.Errorf("%d ended, %+v, printed %q\n%s", ended, got, out, o.Tail)
			}
		})
	}
}

// There is no card here, so a fake one executes the probe's calls.
func TestTorchPretendedGPU(t *testing.T) {
	got, out, o := watchRun(t, Settings{Steps: 3, KeepRunning: true}, nil, python(t), "fake_cuda.py", "10")
	if diff := cmp.Diff(ran{Trained: []int{3}, Ends: []string{"steps"}}, got); diff != "" {
		t.Fatalf("(-want +got)\n%s\n%s", diff, o.Tail)
	}
	step := "record stats "
	want := "stats history_all_None " + step + step + step + "synchronize stats history_off stats backward_as_it_was"
	if got := calls(out); got != want {
		t.Errorf("called %s want %s", got, want)
	}
	r := o.Reports[0]
	if diff := cmp.Diff(&GPU{Name: "Pretended GPU", Total: 100, Free: 60, Capability: 90, Recording: true}, r.GPU); diff != "" {
		t.Errorf("gpu (-want +got)\n%s", diff)
	}
	if r.PeakReserved() != 40 || r.PeakAllocated() != 20 || r.StepSeconds() != 0.25 || r.OOM == nil || r.OOM.Asked != 7 {
		t.Errorf("%+v, %+v", r, r.OOM)
	}
	if r.Snapshot == nil || !cmp.Equal(r.Snapshot.Entries, []int{3}) {
		t.Fatalf("snapshot %+v", r.Snapshot)
	}
	if info, err := os.Stat(r.Snapshot.File); err != nil || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

// The recording contains the model's inputs in each step, and the data beyond the recorded steps.
func TestTorchShapes(t *testing.T) {
	got, _, o := watchRun(t, Settings{Steps: 3}, nil, python(t), "padded.py")
	if diff := cmp.Diff(ran{Trained: []int{3}, Ends: []string{"steps"}}, got); diff != "" {
		t.Fatalf("(-want +got)\n%s\n%s", diff, o.Tail)
	}
	file, err := os.ReadFile(o.Reports[0].Snapshot.File)
	if err != nil {
		t.Fatal(err)
	}
	type tensor struct {
		Shape     []int
		Sum, Most int
		Each      []int
	}
	type batch struct{ Inputs map[string]tensor }
	var seen struct {
		Ends           []int64
		Calls, Batches []batch
		Ahead          struct{ Order, Groups []map[string]tensor }
	}
	if err := json.NewDecoder(bytes.NewReader(file[bytes.Index(file, []byte(`{"calls"`)):])).Decode(&seen); err != nil {
		t.Fatal(err)
	}
	lengths := func(i int) int { return 3 + i*7%20 } // lengths of the samples
	want := tensor{[]int{4, lengths(2)}, lengths(0) + lengths(1) + lengths(2) + lengths(3), lengths(2), []int{lengths(0), lengths(1), lengths(2), lengths(3)}}
	if diff := cmp.Diff(map[string]tensor{"0": want, "mask": want}, seen.Calls[0].Inputs); diff != "" {
		t.Errorf("the first call (-want +got)\n%s", diff)
	}
	if len(seen.Ends) != 3 || len(seen.Calls) != 3 || len(seen.Batches) != 3 {
		t.Errorf("%d steps, %d calls, %d batches", len(seen.Ends), len(seen.Calls), len(seen.Batches))
	}
	a := seen.Ahead
	if len(a.Order) != 40 || len(a.Groups) != 10 || a.Order[1]["0"].Shape[1] != lengths(1) || a.Groups[0]["0"].Shape[1] != lengths(2) {
		t.Errorf("beyond the steps: %+v", a)
	}
}

// calls returns the output of fake_cuda.py on one line.
func calls(out string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(out), " ", "_"), "\n", " ")
}

// Stacks are recorded for allocations, never for frees: collecting one while an exception is being raised broke runs.
func TestTorchStacks(t *testing.T) {
	_, out, _ := watchRun(t, Settings{Steps: 1, Stacks: true, KeepRunning: true}, nil, python(t), "fake_cuda.py", "1")
	if got := calls(out); !strings.Contains(got, " history_all_alloc ") {
		t.Errorf("called %s", got)
	}
}

// Every step of a long recording is reported, and reporting stays a small part of the run: out of a hundred steps of
// 10 ms, few may make a query that takes 1 ms.
func TestTorchShare(t *testing.T) {
	got, out, o := watchRun(t, Settings{Steps: 100}, nil, python(t), "fake_cuda.py", "100")
	if diff := cmp.Diff(ran{Trained: []int{100}, Ends: []string{"steps"}}, got); diff != "" {
		t.Fatalf("(-want +got)\n%s\n%s", diff, o.Tail)
	}
	steps, asked := o.Reports[0].Steps, 0
	for i, s := range steps {
		if s.N != i+1 {
			t.Fatalf("step %d was reported at %d", s.N, i+1)
		}
		if s.PeakReserved > 0 {
			asked++
		}
	}
	if asked < 4 || asked > 4+2 {
		t.Errorf("asked after %d steps of %d, printed %s", asked, len(steps), out)
	}
}

// An existing sitecustomize is still loaded, and its errors are not the probe's.
func TestTorchKeepsSitecustomize(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct{ text, want string }{
		{"print('theirs')\n", "theirs\n"},
		{"raise ValueError('theirs is broken')\n", "step 2\n"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, out, o := watchRun(t, Settings{Steps: 3}, []string{"PYTHONPATH=" + dir}, python(t), "plain.py")
		if !strings.Contains(out, x.want) || len(got.Trained) != 1 {
			t.Errorf("%q: %+v, printed %q\n%s", x.text, got, out, o.Tail)
		}
	}
}

// Whatever fails inside the probe, the training continues to its own end.
func TestTorchProbeFails(t *testing.T) {
	f, err := NewFolder(t.TempDir(), Settings{Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"settings": func() { _ = os.WriteFile(filepath.Join(f.Path, "probe.json"), []byte("{"), 0o600) },
		"folder":   func() { _ = os.RemoveAll(f.Path) },
	} {
		change()
		var out bytes.Buffer
		session := Session{Args: []string{python(t), "plain.py"}, Dir: "testdata", Env: os.Environ(), Stdout: &out, Stderr: &bytes.Buffer{}}
		o, err := session.Run(context.Background(), f)
		if err != nil || o.Exit.Code != 0 || !strings.Contains(out.String(), "step 10\ndone\n") {
			t.Errorf("%s: %v, %+v, printed %q", name, err, o, out.String())
		}
	}
}

// The examples, at sizes small enough for a CPU.
func TestTorchExamples(t *testing.T) {
	py := python(t)
	for dir, args := range map[string][]string{
		"two_tower":      {"main.py", "--batch-size", "4", "--hidden", "16", "--emb", "8", "--vocab", "50", "--doc-len", "8", "--num-workers", "1"},
		"naics_embedder": {"train.py", "--config", "tiny.yaml"},
		"gsa":            {"train.py", "--config", "configs/tiny.yaml"},
		"hilbert_ssm":    {"train.py", "--config", "configs/tiny.yaml"},
		"new_llm":        {"train.py", "--batch-size", "2", "--max-length", "8", "--context-dim", "16", "--embed-dim", "16", "--vocab-size", "50"},
	} {
		t.Run(dir, func(t *testing.T) {
			args[0] = filepath.Join("../../../examples", dir, args[0])
			for i, a := range args {
				if strings.HasSuffix(a, ".yaml") {
					args[i] = filepath.Join("../../../examples", dir, a)
				}
			}
			got, _, o := watchRun(t, Settings{Steps: 2}, nil, append([]string{py}, args...)...)
			if diff := cmp.Diff(ran{Trained: []int{2}, Ends: []string{"steps"}}, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%s", diff, o.Tail)
			}
		})
	}
}

// TestTorchFailures checks that of three failed requests the last two snapshots are kept, and that the run itself
// leaves none.
func TestTorchFailures(t *testing.T) {
	_, out, o := watchRun(t, Settings{Steps: 1 << 30, Stacks: true, KeepRunning: true, Failures: 2, MaxEntries: 5000}, nil, python(t), "fake_oom.py")
	if want := "history all alloc 5000\n"; out != want || o.Exit.Code != 1 {
		t.Errorf("printed %q, want %q; exit code %d", out, want, o.Exit.Code)
	}
	if len(o.Reports) != 1 || o.Reports[0].Snapshot != nil || o.Reports[0].OOM == nil || o.Reports[0].OOM.Asked != 7<<20 {
		t.Fatalf("%+v", o.Reports)
	}
	var names []string
	for _, k := range o.Reports[0].Kept {
		_, name, _ := strings.Cut(filepath.Base(k.File), "-")
		names = append(names, name)
		if info, err := os.Stat(k.File); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", k.File, err)
		}
	}
	if diff := cmp.Diff([]string{"oom1.pickle", "oom0.pickle"}, names); diff != "" {
		t.Errorf("oldest first: %s", diff)
	}
}
