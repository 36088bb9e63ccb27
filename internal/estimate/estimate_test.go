// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"
	"testing"

	"snug/internal/gpu"
	"snug/internal/shadow"
)

// fields returns the setup of a small run, with additional fields.
func fields(model string, more map[string]any) map[string]any {
	out := map[string]any{"model": map[string]any{"name": model}, "batch": 2.0, "seq": 64.0, "precision": "amp-bf16"}
	for k, v := range more {
		out[k] = v
	}
	return out
}

var variants = map[string]map[string]any{
	"plain":         fields("gpt2", nil),
	"fp32":          fields("gpt2", map[string]any{"precision": "fp32"}),
	"checkpointing": fields("bert-base", map[string]any{"checkpointing": true}),
	"accumulation":  fields("opt-125m", map[string]any{"accumulation": 3.0, "clip": true}),
	"lora":          fields("smollm2-135m", map[string]any{"lora": map[string]any{"rank": 8.0, "targets": []any{"q_proj"}}}),
	"expandable":    fields("t5-small", map[string]any{"allocator": "expandable_segments:True"}),
	"rounded":       fields("gpt2", map[string]any{"allocator": "roundup_power2_divisions:4"}),
	"images":        fields("torchvision/resnet18", map[string]any{"optimizer": "sgd-momentum", "seq": nil}),
	"limited":       fields("gpt2", map[string]any{"limit": "1GiB"}),
}

// TestComponentsSum checks that the components add up to the peak in every run.
func TestComponentsSum(t *testing.T) {
	for name, f := range variants {
		t.Run(name, func(t *testing.T) {
			a, err := Estimate(named(t, f), anyCard())
			if err != nil {
				t.Fatal(err)
			}
			c := a.Components
			sum := c.Parameters + c.Gradients + c.Optimizer + c.Activations + c.Logits + c.Batch + c.Temporaries + c.Workspace + c.Fragmentation
			if sum != a.PeakReserved {
				t.Errorf("components sum to %d, but reserved is %d", sum, a.PeakReserved)
			}
			p := a.Phases
			if most := max(p.Load, p.Forward, p.Backward, p.Optimizer); most != a.PeakAllocated {
				t.Errorf("the highest phase has %d, but the peak is %d", most, a.PeakAllocated)
			}
			if a.Interval[0] >= a.PeakReserved || a.Interval[1] <= a.PeakReserved {
				t.Errorf("interval %v does not contain %d", a.Interval, a.PeakReserved)
			}
			if a.DevicePeak != a.PeakReserved+a.Outside {
				t.Errorf("device peak %d", a.DevicePeak)
			}
		})
	}
}

// TestLogitsAreSeen checks that a small model with a large vocabulary peaks in its logits: (B, S, V) in bf16, in
// fp32, as log-probabilities, and their gradient.
func TestLogitsAreSeen(t *testing.T) {
	a, err := Estimate(named(t, fields("gpt2", map[string]any{"batch": 8.0, "seq": 1024.0})), anyCard())
	if err != nil {
		t.Fatal(err)
	}
	const one = 8 * 1024 * 50257 * 4
	if got := a.Components.Logits; got < 3*one || got > 4*one {
		t.Errorf("logits take %d, want 3 to 4 times %d", got, one)
	}
	if a.Components.Parameters < 124439808*4 {
		t.Errorf("parameters take %d", a.Components.Parameters)
	}
}

// TestOptimizerPeak checks that a run with a tiny batch peaks in the optimizer, with all states and without
// activations.
func TestOptimizerPeak(t *testing.T) {
	a, err := Estimate(named(t, fields("gpt2", map[string]any{"batch": 1.0, "seq": 8.0, "precision": "fp32"})), anyCard())
	if err != nil {
		t.Fatal(err)
	}
	c := a.Components
	if c.Optimizer != 2*c.Parameters || c.Gradients != c.Parameters || c.Temporaries < c.Parameters || c.Activations != 0 {
		t.Errorf("%+v", c)
	}
}

func TestGroups(t *testing.T) {
	a, err := Estimate(named(t, fields("gpt2", map[string]any{"batch": 8.0, "seq": 512.0})), anyCard())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := a.Groups()
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	found := false
	for i, g := range groups {
		if i > 0 && g.Bytes() > groups[i-1].Bytes() {
			t.Errorf("%+v is larger than the one before", g)
		}
		if size := uint64(g.Form.Size.Numel()) * g.Form.Type.Bytes(); g.Form.Type != shadow.None && rounded(size) != g.Each {
			t.Errorf("%s %s has %d bytes", g.Path, g.Form, g.Each)
		}
		sum += g.Bytes()
		found = found || g.Path == "transformer.h.*.mlp.c_fc.weight" && g.Component == shadow.Parameters && g.Count == 12 && g.Form.String() == "[768, 3072] float32"
	}
	if sum != a.PeakReserved-a.Components.Fragmentation {
		t.Errorf("groups sum to %d", sum)
	}
	if !found {
		t.Error("the twelve c_fc weights do not form one group")
	}
}

func TestDoesNotFit(t *testing.T) {
	s := named(t, fields("gpt2", map[string]any{"batch": 8.0, "seq": 1024.0, "limit": "4GiB"}))
	a, err := Estimate(s, anyCard())
	if err != nil {
		t.Fatal(err)
	}
	if a.Fits == nil || *a.Fits || a.OOM == nil {
		t.Error("the run should not fit")
	}
	s.Limit = 0
	free, err := Estimate(s, anyCard())
	if err != nil {
		t.Fatal(err)
	}
	if free.Fits != nil || free.PeakReserved != a.PeakReserved {
		t.Errorf("the peak is %d with a limit and %d without", a.PeakReserved, free.PeakReserved)
	}
}

// TestMaxBatchIsTheLast checks that the answer fits and the next batch does not.
func TestMaxBatchIsTheLast(t *testing.T) {
	card := gpu.Reference
	card.Total = 8 << 30
	s := named(t, fields("gpt2", map[string]any{"seq": 512.0}))
	m, err := MaxBatch(s, card)
	if err != nil {
		t.Fatal(err)
	}
	for batch, want := range map[int]bool{m.MaxBatch: true, m.MaxBatch + 1: false} {
		s.Batch = batch
		if a, err := Estimate(s, card); err != nil || *a.Fits != want {
			t.Errorf("batch %d: fits %v, %v", batch, a.Fits, err)
		}
	}
	if _, err := MaxBatch(s, anyCard()); !errors.Is(err, ErrNoLimit) {
		t.Errorf("without a limit: %v", err)
	}
}

// TestMaxBatchAboveAGap checks a run whose peak is in its evaluation: a batch of 1 fails because free memory is
// fragmented, but 2 to 6 fit. The search used to stop at 1.
func TestMaxBatchAboveAGap(t *testing.T) {
	card, err := gpu.Find("RTX-4090")
	if err != nil {
		t.Fatal(err)
	}
	s := named(t, fields("gpt2-medium", map[string]any{"seq": 1024.0, "loop": "trainer", "evaluation": map[string]any{"batch": 32.0}}))
	fits := func(batch int) bool {
		a, err := Estimate(withBatch(s, batch), card)
		if err != nil {
			t.Fatal(err)
		}
		return *a.Fits
	}
	m, err := MaxBatch(s, card)
	if err != nil {
		t.Fatal(err)
	}
	if m.MaxBatch != 6 || !fits(6) || fits(7) || m.Fails != 1 || fits(1) {
		t.Errorf("the largest batch is %d and %d fails; 1, 6 and 7 fit: %v, %v, %v", m.MaxBatch, m.Fails, fits(1), fits(6), fits(7))
	}
}

func TestTimeline(t *testing.T) {
	a, err := Estimate(named(t, variants["plain"]), anyCard())
	if err != nil {
		t.Fatal(err)
	}
	line, err := a.Timeline(60)
	if err != nil {
		t.Fatal(err)
	}
	if len(line.Allocated) != 60 || len(line.Starts) != 3 || line.Peak < 0 || line.Allocated[line.Peak] != a.PeakAllocated {
		t.Errorf("%+v", line)
	}
}
