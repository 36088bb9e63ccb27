// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"testing"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/stream"
)

// decoders returns every family that can be trained both as a decoder and as an encoder.
func decoders() []string {
	return family.Types(func(f family.Facts) bool {
		return slices.Contains(f.Heads, family.CausalLM) && slices.Contains(f.Heads, family.Encoder)
	})
}

// rarer returns unusual settings for small decoders: fewer key heads and a window shorter than the sequence, or
// settings that are rare in a family, such as an unusual head width, dropout, or norms without weights.
func rarer(modelType string) map[string]any {
	if keys, ok := rarerOf[modelType]; ok {
		return keys
	}
	return map[string]any{"num_key_value_heads": 2.0, "sliding_window": 16.0, "head_dim": 24.0, "num_experts": 4.0, "num_local_experts": 4.0, "num_experts_per_tok": 2.0}
}

var rarerOf = map[string]map[string]any{
	"llama":    {"num_key_value_heads": 2.0, "attention_dropout": 0.1},
	"mistral":  {"num_key_value_heads": 2.0, "sliding_window": 16.0},
	"qwen2":    {"num_key_value_heads": 2.0, "use_sliding_window": true, "sliding_window": 16.0, "max_window_layers": 1.0},
	"qwen3":    {"num_key_value_heads": 2.0, "head_dim": 24.0, "tie_word_embeddings": true},
	"gemma2":   {"num_key_value_heads": 2.0, "sliding_window": 16.0, "head_dim": 300.0},
	"phi3":     {"num_key_value_heads": 2.0, "resid_pdrop": 0.1, "partial_rotary_factor": 0.5, "rope_scaling": map[string]any{"type": "longrope"}},
	"gpt_neox": {"hidden_dropout": 0.1, "attention_dropout": 0.1, "use_parallel_residual": false},
	"opt":      {"ffn_dim": 100.0, "layer_norm_elementwise_affine": false, "attention_dropout": 0.1, "word_embed_proj_dim": 64.0},
	"gpt2":     {"activation_function": "gelu_fast"},
	"gptj":     {"rotary_dim": 8.0},

	"deepseek_v2": {"n_routed_experts": 4.0, "num_experts_per_tok": 2.0, "n_group": 2.0, "topk_method": "group_limited_greedy", "first_k_dense_replace": 1.0},
	"glm4_moe":    {"num_key_value_heads": 2.0, "head_dim": 24.0, "n_routed_experts": 4.0, "num_experts_per_tok": 2.0, "use_qk_norm": true},
	"deepseek_v3": {"num_key_value_heads": 6.0, "n_routed_experts": 4.0, "num_experts_per_tok": 2.0, "n_group": 2.0, "topk_group": 1.0, "q_lora_rank": nil, "first_k_dense_replace": 1.0},
}

// withoutFlash lists the decoders with their own attention code, for which flash attention is refused.
var withoutFlash = []string{"deepseek_v2", "deepseek_v3", "gpt_oss", "bloom", "falcon", "gpt_neo", "gptj", "mpt"}

func decoderSetup(modelType string, keys map[string]any) *setup.Setup {
	c := map[string]any{
		"model_type": modelType, "hidden_size": 96.0, "num_attention_heads": 6.0, "num_hidden_layers": 3.0,
		"intermediate_size": 100.0, "vocab_size": 501.0,
	}
	for k, v := range keys {
		c[k] = v
	}
	return &setup.Setup{Model: setup.Model{Config: c, Head: "causal-lm"}, Batch: 3, Seq: 17}
}

// live returns the bytes still allocated after a run of the given number of steps.
func live(t *testing.T, s *setup.Setup, steps int) uint64 {
	t.Helper()
	s.Steps = steps
	r, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	size := map[uint32]uint64{}
	for _, e := range r.World.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = e.Size
			sum += e.Size
		case stream.Free:
			sum -= size[e.ID]
		}
	}
	return sum
}

// TestDecodersLeakNothing checks that a step frees everything it allocates, under any options: the live bytes
// after the second and the third step are equal.
func TestDecodersLeakNothing(t *testing.T) {
	for _, modelType := range decoders() {
		for _, precision := range []string{"fp32", "bf16", "amp-bf16", "amp-fp16"} {
			for _, attention := range []string{"sdpa", "eager", "flash"} {
				if attention == "flash" && slices.Contains(withoutFlash, modelType) {
					continue
				}
				for _, i := range []int{0, 3, 5, 6} { // four combinations that cover every pair of values of the three switches
					s := decoderSetup(modelType, rarer(modelType))
					s.Precision, s.Attention, s.Checkpointing = precision, attention, i&1 == 0
					mask := i&2 == 0
					s.AttentionMask = &mask
					if i&4 != 0 {
						s.Batch, s.Seq, s.Model.Head = 1, 8, "encoder"
					}
					name := fmt.Sprintf("%s/%s/%s/mask=%t/checkpointing=%t/%s", modelType, precision, attention, mask, s.Checkpointing, s.Model.Head)
					t.Run(name, func(t *testing.T) {
						if two, three := live(t, s, 2), live(t, s, 3); two != three {
							t.Errorf("%d bytes are live after two steps, %d after three", two, three)
						}
					})
				}
			}
		}
	}
}

// TestDecodersRefuse checks that an impossible config is refused with an error.
func TestDecodersRefuse(t *testing.T) {
	for _, c := range []struct {
		family, key string
		value       any
	}{
		{"llama", "num_key_value_heads", 4.0},
		{"llama", "hidden_size", 100.0},
		{"llama", "hidden_size", "wide"},
		{"llama", "hidden_act", "softer"},
		{"mistral", "head_dim", 15.0},
		{"qwen2", "layer_types", []any{"full_attention"}},
		{"qwen3", "num_attention_heads", 0.0},
		{"gemma2", "sliding_window", nil},
		{"phi3", "partial_rotary_factor", 2.0},
		{"gpt_neox", "num_attention_heads", 7.0},
		{"gpt2", "reorder_and_upcast_attn", true},
		{"opt", "vocab_size", -1.0},
	} {
		s := decoderSetup(c.family, map[string]any{c.key: c.value})
		s.Steps = 1
		if _, err := Run(s, Options{}); err == nil {
			t.Errorf("%s with %s = %v: no error", c.family, c.key, c.value)
		}
	}
}
