// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newGLM4MoE makes GLM-4.5: Llama that rotates half of each head, with the experts of DeepSeek-V3
// (transformers/models/glm4_moe/modeling_glm4_moe.py).
func newGLM4MoE(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "glm4_moe is simulated only for transformers 5; use 5")
	}
	c.alias("num_local_experts", "n_routed_experts")
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 46, heads: 96, kv: 8, inter: 10944, vocab: 151552})
	s.qkvBias = c.Bool("attention_bias", false)
	moe := groupedShape{
		moeShape: moeShape{experts: c.experts("num_local_experts", 128), chosen: c.Positive("num_experts_per_tok", 8), inter: c.Positive("moe_intermediate_size", 1408), normalized: c.Bool("norm_topk_prob", true)},
		groups:   c.Positive("n_group", 1), kept: c.Positive("topk_group", 1),
		shared: c.Positive("n_shared_experts", 1), dense: c.Int("first_k_dense_replace", 1), bias: shadow.Float32,
	}
	moe.check(c)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.rotate = c.Float("attention_dropout", 0), lateRotary
		l := &llamaLayer{Path: shadow.Path(at), attn: attn}
		if c.Bool("use_qk_norm", false) {
			l.attn = &glm4MoEAttention{
				llamaAttention: attn,
				qNorm:          newRMSNorm(b, run, at+".self_attn.q_norm", s.dim),
				kNorm:          newRMSNorm(b, run, at+".self_attn.k_norm", s.dim),
			}
		}
		if i >= moe.dense {
			l.mlp = newSharedExperts(b, run, at+".mlp", s.hidden, moe, act)
		} else {
			l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		}
		l.inputNorm = newRMSNorm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden)
		return l
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, c.rotaryDim(s.dim, "partial_rotary_factor", 0.5))
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// lateRotary is apply_rotary_pos_emb of GLM-4.5.
func lateRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	return applyPartialRotary(q, k, cos, sin, true)
}

// glm4MoEAttention is Glm4MoeAttention with use_qk_norm. Values are projected before queries and keys are normalized.
type glm4MoEAttention struct {
	*llamaAttention
	qNorm, kNorm *rmsNorm
}

func (a *glm4MoEAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim)) // (B, S, H, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim))   // (B, S, Hkv, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim)) // (B, S, Hkv, D)
	fn.Set(&query, a.qNorm.Call(query))
	fn.Set(&key, a.kNorm.Call(key))
	fn.Set(&query, query.Transpose(1, 2))
	fn.Set(&key, key.Transpose(1, 2))
	fn.Set(&value, value.Transpose(1, 2))
	return a.attend(fn, &query, &key, value)
}
