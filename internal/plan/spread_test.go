// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// TestLoadSharded checks that a run that loads whole weights before sharding is loaded sharded if only that makes it
// fit, and not otherwise.
func TestLoadSharded(t *testing.T) {
	of := func(limit float64) *Plan {
		t.Helper()
		s := run(t, map[string]any{
			"model": map[string]any{"name": "llama-3.1-8b"}, "batch": 1.0, "seq": 128.0, "precision": "bf16", "checkpointing": true,
			"dist": map[string]any{"kind": "fsdp2", "world": 64.0}, "limit": limit * units.GiB,
		})
		p, err := Search(Request{Setup: s, Card: gpu.Reference})
		if err != nil {
			t.Fatal(err)
		}
		if p.Recommended == nil {
			t.Fatalf("nothing fits %g GiB", limit)
		}
		return p
	}
	tight := of(13)
	if d := tight.Recommended.Estimate.Setup.Dist; !d.LoadsSharded() || d.Kind != "fsdp2" {
		t.Errorf("distributed as %+v", d)
	}
	if got := tight.Recommended.Settings.Get("dist.load"); got != "sharded" {
		t.Errorf("load is %v in the settings", got)
	}
	if len(tight.Notes) == 0 || !strings.Contains(tight.Notes[0], "needs a sharded load") {
		t.Errorf("notes %q", tight.Notes)
	}
	if d := of(24).Recommended.Estimate.Setup.Dist; d.LoadsSharded() {
		t.Errorf("with enough room it is loaded as %+v", d)
	}
}

// TestNextStages checks that DeepSpeed runs move to the next ZeRO stage, which is a single number in DeepSpeed's
// config.
func TestNextStages(t *testing.T) {
	s := run(t, map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 128.0, "precision": "bf16", "checkpointing": true,
		"dist": map[string]any{"kind": "zero1-deepspeed", "world": 8.0}, "limit": 8.0 * units.GiB,
	})
	p, err := Search(Request{Setup: s, Card: gpu.Reference})
	if err != nil || p.Recommended == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if kind := p.Recommended.Estimate.Setup.Dist.Kind; kind != "zero2" {
		t.Errorf("recommended %s", kind)
	}
}

// TestPolicyOfFSDP checks that a run that fits only with FSDP2 gathers its weights in 16 bits with FSDP's own policy.
// Autocast would keep a 16-bit copy of every gathered weight, and computing in float32 was 13 times slower.
func TestPolicyOfFSDP(t *testing.T) {
	r := Request{Card: card(t, "B200"), Setup: run(t, map[string]any{
		"model": map[string]any{"name": "llama-3.1-70b"}, "batch": 1.0, "accumulation": 4.0, "seq": 1024.0,
		"dist": map[string]any{"kind": "ddp", "world": 8.0},
	})}
	p, err := Search(r)
	if err != nil || p.Recommended == nil {
		t.Fatal(p, err)
	}
	d := p.Recommended.Estimate.Setup.Dist
	if d.Kind != setup.FSDP2 || d.ParamDType != setup.BF16 || d.ReduceDType != setup.FP32 {
		t.Errorf("recommended %+v", d)
	}
	if !slices.ContainsFunc(p.Notes, func(note string) bool {
		return strings.Contains(note, "MixedPrecisionPolicy(param_dtype=bf16, reduce_dtype=fp32)")
	}) {
		t.Errorf("notes %q", p.Notes)
	}
}
