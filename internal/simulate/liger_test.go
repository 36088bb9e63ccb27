// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"pgregory.net/rapid"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/stream"
)

// TestLigerLeavesNothing draws runs with any of Liger's kernels, and checks that as many bytes are live at the
// end as without the kernels.
func TestLigerLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		config := map[string]any{
			"model_type":  pick("family", family.Types(func(f family.Facts) bool { return f.Liger })...),
			"hidden_size": 64.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0, "num_key_value_heads": 2.0, "head_dim": 16.0,
			"intermediate_size": 96.0, "moe_intermediate_size": 32.0, "num_experts": 4.0, "num_local_experts": 4.0, "num_experts_per_tok": 2.0,
			"vocab_size": 300.0, "tie_word_embeddings": rapid.Bool().Draw(t, "tied"),
		}
		s := &setup.Setup{
			Model: setup.Model{Config: config, Head: pick("head", "causal-lm", "causal-lm", "encoder")},
			Batch: rapid.IntRange(1, 3).Draw(t, "batch"), Seq: rapid.IntRange(1, 40).Draw(t, "seq"), Steps: 2,
			Accumulation: rapid.IntRange(1, 3).Draw(t, "accumulation"), Optimizer: "adamw", Clip: rapid.Bool().Draw(t, "clip"),
			Precision: pick("precision", "fp32", "amp-bf16", "amp-fp16", "bf16"), Attention: pick("attention", "sdpa", "eager"),
			Checkpointing: rapid.Bool().Draw(t, "checkpointing"),
		}
		if rapid.Bool().Draw(t, "lora") && config["model_type"] != "phi3" {
			s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj", "v_proj"}, PEFT: rapid.Bool().Draw(t, "peft")}
		} else if kind := pick("dist", "", "", "ddp", "fsdp2", "zero2", "zero3"); kind != "" {
			s.Dist = setup.Over(kind, 2)
		}
		plain := alive(t, s)
		s.Liger = rapid.SliceOfDistinct(rapid.SampledFrom(setup.LigerParts), rapid.ID[string]).Draw(t, "liger")
		if s.Model.Head == "causal-lm" && rapid.Bool().Draw(t, "loss") {
			s.Loss = setup.LigerLoss
		}
		if got := alive(t, s); got != plain {
			t.Fatalf("%d bytes are live at the end, %d without Liger", got, plain)
		}
	})
}

// alive returns the bytes that a run has not freed.
func alive(t *rapid.T, s *setup.Setup) (total uint64) {
	r, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	size := map[uint32]uint64{}
	for _, e := range r.World.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			size[e.ID], total = e.Size, total+e.Size
		case stream.Free:
			total -= size[e.ID]
		}
	}
	return total
}
