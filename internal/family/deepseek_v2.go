// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DeepSeek-V2: transformers/models/deepseek_v2/modeling_deepseek_v2.py. It is DeepSeek-V3, except that experts are
// chosen differently and rotary embeddings use complex numbers.

func newDeepSeekV2(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.alias("num_local_experts", "n_routed_experts")
	usual := llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 102400}
	moe := groupedShape{
		moeShape: moeShape{experts: c.experts("num_local_experts", 64), chosen: c.Positive("num_experts_per_tok", 1), inter: c.Positive("moe_intermediate_size", 1407)},
		soft:     true, groups: c.Positive("n_group", 1), kept: c.Positive("topk_group", 1),
		shared: c.Positive("n_shared_experts", 2), dense: c.Int("first_k_dense_replace", 0),
	}
	switch c.String("topk_method", "greedy") {
	case "greedy":
		moe.ungrouped = true
	case "group_limited_greedy":
	default:
		c.fail("topk_method", "greedy or group_limited_greedy")
	}
	c.refuse("mlp_bias")
	m, err := newDeepSeek(b, c, run, usual, moe, complexRotary)
	if err == nil {
		m.rotary.full.complex = true
	}
	return m, err
}

// complexRotary is apply_rotary_emb: pairs of elements are complex numbers. freqs is (1, S, D / 2, 2).
func complexRotary(q, k, freqs, _ *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, freqs)
	q2 := fn.Let(complexOf(q)) // (B, H, S, D / 2, 2)
	k2 := fn.Let(complexOf(k))
	fn.Set(&freqs, freqs.Unsqueeze(1))
	qe := fn.Let(q2.MulComplex(freqs).Flatten(3).To(q.DType()))
	ke := fn.Let(k2.MulComplex(freqs).Flatten(3).To(k.DType()))
	return fn.Return2(qe, ke)
}

func complexOf(x *shadow.Tensor) *shadow.Tensor {
	return x.Float().Reshape(x.Size(0), x.Size(1), x.Size(2), -1, 2)
}
