// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
)

func TestNotes(t *testing.T) {
	sharded := setup.Over(setup.FSDP2, 2)
	sharded.ParamDType = setup.BF16
	experts := setup.Model{Config: map[string]any{"model_type": "qwen3_moe"}}
	for _, c := range []struct {
		card string
		s    setup.Setup
		want string
	}{
		{"T4", setup.Setup{Precision: "amp-bf16"}, "T4 has no bf16 hardware"},
		{"T4", setup.Setup{Precision: "bf16"}, "use precision amp-fp16"},
		{"V100-32GB", setup.Setup{Precision: "bf16"}, "V100-32GB has no bf16 hardware"},
		{"T4", setup.Setup{Precision: "fp32", Dist: sharded}, "fp16 or fp32 for FSDP2"},
		{"T4", setup.Setup{Precision: "amp-fp16"}, ""},
		{"T4", setup.Setup{Precision: "fp32", Dist: setup.Over("ddp", 2)}, ""},
		{"A100-40GB", setup.Setup{Precision: "bf16", Dist: sharded}, ""},
		{"MI300X", setup.Setup{Precision: "bf16"}, ""},
		{"T4", setup.Setup{Precision: "amp-bf16", Loads: map[string]setup.Loading{"amp-fp16": {Never: true}}}, "these files cannot combine amp-fp16"},
		{"T4", setup.Setup{Precision: "amp-fp16", Guessed: true}, "the gradient scaler would fail"},
		{"L4", setup.Setup{Precision: "fp32", Guessed: true}, "give it with --precision"},
		{"L4", setup.Setup{Precision: "amp-bf16", Guessed: true}, "give it with --weights"},
		{"T4", setup.Setup{Precision: "amp-fp16", Attention: "flash"}, "T4 has no kernels for flash attention"},
		{"A100-40GB", setup.Setup{Precision: "amp-fp16", Attention: "flash"}, ""},
		{"L4", setup.Setup{Liger: []string{"mlp"}, Model: experts}, "LIGER_FUSED_MOE_AUTOTUNE=0"},
		{"L4", setup.Setup{Liger: []string{"norm"}, Model: experts}, ""},
		{"L4", setup.Setup{Liger: []string{"mlp"}, Model: setup.Model{Config: map[string]any{"model_type": "llama"}}}, ""},
		{"L4", setup.Setup{Versions: setup.Versions{Transformers: "4.57"}}, "versions.transformers is 4.57, but the simulated code"},
		{"L4", setup.Setup{Loop: setup.DPOLoop, Evaluation: &setup.Evaluation{Batch: 8}}, "is not simulated with loop trl-dpo"},
		{"L4", setup.Setup{Loop: setup.DPOLoop, Dist: setup.Over(setup.Zero3, 8)}, "may need up to 3 % more than shown"},
		{"L4", setup.Setup{Loop: setup.DPOLoop, Dist: setup.Over(setup.Zero2, 8)}, ""},
		{"L4", setup.Setup{Loop: setup.DPOLoop, Dist: setup.Over(setup.FSDP1, 8), LoRA: &setup.LoRA{Rank: 8}}, "PEFT casts the inputs of its adapters"},
		{"L4", setup.Setup{Versions: setup.Versions{CUDA: "12.6"}}, "versions.cuda is 12.6 and has no effect"},
		{"L4", setup.Setup{Versions: setup.Versions{BitsAndBytes: "0.43"}}, "versions.bitsandbytes is 0.43 and has no effect"},
		{"L4", setup.Setup{Versions: setup.Versions{Torch: "2.4", BitsAndBytes: "0.43"}, Quantization: &setup.Quantization{}}, ""},
	} {
		card, err := gpu.Find(c.card)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(Notes(&c.s, card), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.card, c.s, got, c.want)
		}
	}
	if got := Notes(&setup.Setup{Precision: "bf16"}, gpu.Card{Name: "unheard of", Maker: gpu.NVIDIA}); got != nil {
		t.Errorf("an unknown card: %q", got)
	}
}

// TestUncounted checks that a run gets notes on uncounted gradients if its profile lacks their size, and that they
// are counted otherwise.
func TestUncounted(t *testing.T) {
	ddp := map[string]any{"kind": "ddp", "world": 4.0}
	view := map[string]any{"kind": "ddp", "world": 4.0, "bucket_view": true}
	for _, c := range []struct {
		name   string
		fields map[string]any
		change func(*profile.Facts)
		want   []string
	}{
		{"everything recorded", map[string]any{"accumulation": 4.0, "dist": ddp}, func(*profile.Facts) {}, nil},
		{"one forward on one GPU", map[string]any{}, func(f *profile.Facts) { *f = profile.Facts{} }, nil},
		{"DDP", map[string]any{"dist": ddp}, func(f *profile.Facts) { *f = profile.Facts{} }, []string{"DDP's buckets"}},
		{"DDP around one GPU", map[string]any{"dist": map[string]any{"kind": "ddp", "world": 1.0}}, func(f *profile.Facts) { *f = profile.Facts{} }, nil},
		{"recorded under DDP", map[string]any{"dist": ddp}, func(f *profile.Facts) { *f = profile.Facts{World: 2} }, nil},
		{"accumulation", map[string]any{"accumulation": 2.0}, func(f *profile.Facts) { *f = profile.Facts{} }, []string{"number of forward passes"}},
		{"both, from one forward", map[string]any{"accumulation": 4.0, "dist": ddp}, func(f *profile.Facts) { f.Gradients = 0 }, []string{"those that accumulation adds", "DDP's buckets"}},
		{"the buckets are the gradients", map[string]any{"accumulation": 4.0, "dist": view}, func(f *profile.Facts) { f.Gradients = 0 }, []string{"those that accumulation adds"}},
	} {
		p := towers(t)
		c.change(&p.Facts)
		c.fields["batch"] = 64.0
		got := Uncounted(decoded(t, p, c.fields))
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) || !strings.Contains(got[i], "m.snug") {
				t.Errorf("%s: %q, want %q", c.name, got[i], c.want[i])
			}
		}
	}
	if got := Uncounted(&setup.Setup{Accumulation: 4}); got != nil {
		t.Errorf("a simulated run: %q", got)
	}
}

func TestNotesUnverified(t *testing.T) {
	s := decoded(t, towers(t), map[string]any{"batch": 64.0, "steps": 5.0})
	want := []string{"steps: not recorded in m.snug, so it does not affect the figures"}
	if diff := cmp.Diff(want, Notes(s, gpu.Card{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHoldsGradientsNote checks the note that under accelerate, FSDP shards gradients only after the last
// micro-batch.
func TestHoldsGradientsNote(t *testing.T) {
	for _, c := range []struct {
		loop         string
		accumulation float64
		said         bool
	}{{"trainer", 4, true}, {"trl", 2, true}, {"trainer", 1, false}, {"step", 4, false}} {
		s := named(t, map[string]any{
			"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 64.0, "accumulation": c.accumulation, "loop": c.loop,
			"dist": map[string]any{"kind": "fsdp2", "world": 4.0},
		})
		said := slices.ContainsFunc(Notes(s, gpu.Card{}), func(note string) bool {
			return strings.Contains(note, "accelerate reduces gradients only in the last of the")
		})
		if said != c.said {
			t.Errorf("%s, %v micro-batches: note given: %v", c.loop, c.accumulation, said)
		}
	}
}

// TestHoldsGradients checks that under accelerate each GPU has the gradients of all parameters before the last
// micro-batch, and only its shard if every micro-batch reduces them.
func TestHoldsGradients(t *testing.T) {
	for _, kind := range []string{setup.FSDP2, setup.FSDP1} {
		at := func(loop string) *Answer {
			a, err := Estimate(named(t, map[string]any{
				"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 64.0, "precision": "bf16", "accumulation": 4.0, "loop": loop,
				"dist": map[string]any{"kind": kind, "world": 4.0},
			}), gpu.Card{})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		whole := uint64(2 * at("step").Trainable)
		held, reduced := at("trainer"), at("step")
		if more := held.PeakAllocated - reduced.PeakAllocated; more < whole/4 || more > whole {
			t.Errorf("%s: %d bytes of gradients are kept, but the peak is %d higher", kind, whole, more)
		}
		if held.Components.Gradients < whole {
			t.Errorf("%s: %d bytes of gradients at the peak, %d in total", kind, held.Components.Gradients, whole)
		}
	}
}
