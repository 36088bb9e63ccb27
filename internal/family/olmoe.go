// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newOLMoE makes OLMoE: Llama with norms over all queries and all keys, and experts in every layer
// (transformers/models/olmoe/modeling_olmoe.py).
func newOLMoE(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "olmoe is simulated only for transformers 5; use 5")
	}
	s := readDecoder(c, llamaShape{hidden: 2048, layers: 16, heads: 16, inter: 2048, vocab: 50304})
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	moe := moeShape{
		experts: c.experts("num_experts", 64), chosen: c.Positive("num_experts_per_tok", 8), inter: s.inter,
		normalized: c.Bool("norm_topk_prob", false), routerFirst: true,
	}
	if c.Has("clip_qkv") {
		c.fail("clip_qkv", "null, because clipped queries, keys and values are not simulated")
	}
	c.noRouterLogits()
	c.chosenFit(&moe)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at),
			attn: &olmoeAttention{
				llamaAttention: attn,
				qNorm:          newRMSNorm(b, run, at+".self_attn.q_norm", s.heads*s.dim),
				kNorm:          newRMSNorm(b, run, at+".self_attn.k_norm", s.kv*s.dim),
			},
			mlp:       newMoeBlock(b, run, at+".mlp", s.hidden, moe, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

type olmoeAttention struct {
	*llamaAttention
	qNorm, kNorm *rmsNorm // over all heads
}

func (a *olmoeAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.qNorm.Call(a.q.Call(hidden))) // (B, S, H·D)
	key := fn.Let(a.kNorm.Call(a.k.Call(hidden)))   // (B, S, Hkv·D)
	value := fn.Let(a.v.Call(hidden))               // (B, S, Hkv·D)
	fn.Set(&query, query.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&key, key.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&value, value.View(B, S, -1, a.headDim).Transpose(1, 2))
	return a.attend(fn, &query, &key, value)
}
