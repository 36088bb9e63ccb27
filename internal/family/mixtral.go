// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newMixtral makes Mistral with experts in place of its MLPs:
// transformers/models/mixtral/modular_mixtral.py.
func newMixtral(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := llamaShape{
		hidden: c.Positive("hidden_size", 4096), layers: c.Int("num_hidden_layers", 32),
		heads: c.Positive("num_attention_heads", 32),
		vocab: c.Positive("vocab_size", 32000),
	}
	s.kv = c.kvHeads(s.heads, 8)
	s.dim = c.headDim(s.hidden, s.heads)
	s.masks = sameWindow(s.layers, c.window(0))
	s.moe = &moeShape{
		experts: c.experts("num_local_experts", 8), chosen: c.Positive("num_experts_per_tok", 2),
		inter: c.Positive("intermediate_size", 14336), every: 1,
		routerFirst: true, normalized: true, scores: shadow.Float32,
		block: "block_sparse_moe", linears: [3]string{"w1", "w3", "w2"},
	}
	c.noRouterLogits()
	c.chosenFit(s.moe)
	return newLlamaLike(b, c, run, s), nil
}

// newQwen3MoE makes Qwen3 with experts in place of its MLPs:
// transformers/models/qwen3_moe/modular_qwen3_moe.py.
func newQwen3MoE(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := llamaShape{
		hidden: c.Positive("hidden_size", 2048), layers: c.Int("num_hidden_layers", 24),
		heads: c.Positive("num_attention_heads", 32),
		inter: c.Positive("intermediate_size", 6144), vocab: c.Positive("vocab_size", 151936),
		qkvBias: c.Bool("attention_bias", false), headNorm: true,
	}
	s.oBias = s.qkvBias
	s.kv = c.kvHeads(s.heads, 4)
	s.dim = c.headDim(s.hidden, s.heads)
	s.masks = sameWindow(s.layers, 0)
	if c.Bool("use_sliding_window", false) {
		s.masks = sameWindow(s.layers, c.window(4096))
	}
	s.moe = &moeShape{
		experts: c.experts("num_experts", 128), chosen: c.Positive("num_experts_per_tok", 8),
		inter: c.Positive("moe_intermediate_size", 768), every: c.Positive("decoder_sparse_step", 1),
		dense: c.Ints("mlp_only_layers"), normalized: c.Bool("norm_topk_prob", false),
		block: "mlp", linears: [3]string{"gate_proj", "up_proj", "down_proj"},
	}
	c.noRouterLogits()
	c.chosenFit(s.moe)
	if err := run.checkLigerExperts(s); err != nil {
		return nil, err
	}
	return newLlamaLike(b, c, run, s), nil
}

// experts reads the number of experts; configs use either name.
func (c *Config) experts(key string, def int) int {
	for _, k := range []string{key, "num_local_experts", "num_experts"} {
		if c.Has(k) {
			return c.Positive(k, def)
		}
	}
	return def
}

// noRouterLogits records an error if the load-balancing loss is on, which keeps the logits of every router.
func (c *Config) noRouterLogits() {
	if c.Bool("output_router_logits", false) {
		c.fail("output_router_logits", "false, because the load-balancing loss is not simulated")
	}
}

// chosenFit records an error if a token would use more experts than the model has.
func (c *Config) chosenFit(m *moeShape) {
	if m.chosen > m.experts {
		c.fail("num_experts_per_tok", "at most the number of experts")
		m.chosen = m.experts
	}
}
