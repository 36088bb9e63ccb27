// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/profile"
	"snug/internal/run"
)

func TestPrecisionOf(t *testing.T) {
	for _, c := range []struct{ weights, autocast, want string }{
		{"float32", "", "fp32"},
		{"float32", "bfloat16", "amp-bf16"},
		{"bfloat16", "", "bf16"},
		{"bfloat16", "bfloat16", "amp-bf16"}, // as transformers 5 loads it
		{"float16", "bfloat16", "amp-bf16"},
		{"float8_e4m3fn", "bfloat16", ""},
	} {
		x := &run.Report{State: &run.State{Dtypes: map[string]int{c.weights: 100, "int64": 1}}, Batches: []run.Batch{{Autocast: c.autocast}}}
		if got := precisionOf(x); got != c.want {
			t.Errorf("%s under autocast to %q: %q, want %q", c.weights, c.autocast, got, c.want)
		}
	}
}

// The program has the facts that the probe reported in the last run, and the step times of all runs.
func TestFacts(t *testing.T) {
	small := &run.Report{Steps: []run.Step{{}, {Seconds: 0.5}}}
	last := &run.Report{
		World: 2, Versions: map[string]string{"transformers": "5"},
		State:   &run.State{Parameters: 400, Buffers: 20, Optimizer: 800, Params: 100, Trainable: 25},
		Batches: []run.Batch{{Module: "Net"}},
		Steps:   []run.Step{{Optimizer: "AdamW", Backwards: 4}},
	}
	off := false
	want := profile.Facts{
		World: 2, Stacks: true, Model: "Net", Params: 100, Trainable: 25, Parameters: 420, Gradients: 100, States: 800,
		Checkpointing: &off, Optimizer: "AdamW", Accumulation: 4,
		Timings: []profile.Timing{{At: profile.Point{"batch": 2}, Seconds: 0.5}},
	}
	got := facts([]*Trial{{At: profile.Point{"batch": 2}, Report: small}, {At: profile.Point{"batch": 3}, Report: last, Stacks: true}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Sizes that were not varied are read from the batches, the command and the files.
func TestFixedSizes(t *testing.T) {
	tokens := func(n int) *Trial {
		inputs := []run.Input{{Name: "mask", Shape: []int{2, 9}}, {Name: "input_ids", Shape: []int{2, n}}}
		return &Trial{At: profile.Point{"batch": 2}, Report: &run.Report{Batches: []run.Batch{{Inputs: inputs}}}}
	}
	files := newProject(map[string]string{"train.py": "", "a.yaml": "per_device_train_batch_size: 16\nmax_seq_length: 256\noutput_dir: out\n"})
	for _, c := range []struct {
		command string
		trials  []*Trial
		want    profile.Point
	}{
		{"python train.py a.yaml", []*Trial{tokens(512), tokens(512)}, profile.Point{"seq": 512}}, // observed values override configured ones
		{"python train.py a.yaml", []*Trial{tokens(512), tokens(640)}, profile.Point{"seq": 256}},
		{"python train.py a.yaml --max_seq_length 128", []*Trial{tokens(0)}, profile.Point{"seq": 128}},
		{"python train.py", []*Trial{{At: profile.Point{"seq": 4}, Report: tokens(4).Report}}, profile.Point{}},
	} {
		s := &Session{binder: binder{files: userFiles{files}, launch: run.ReadLaunch(strings.Fields(c.command)), configs: nil}}
		if diff := cmp.Diff(c.want, s.fixedSizes(c.trials)); diff != "" {
			t.Errorf("%s: %s", c.command, diff)
		}
	}
}
