// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newHunYuan makes HunYuan's dense models: Llama that normalizes queries and keys after the rotation
// (transformers/models/hunyuan_v1_dense/modular_hunyuan_v1_dense.py).
func newHunYuan(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 290943})
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout = c.Float("attention_dropout", 0)
		return &llamaLayer{
			Path: shadow.Path(at),
			attn: &hunYuanAttention{
				llamaAttention: attn,
				qNorm:          newRMSNorm(b, run, at+".self_attn.query_layernorm", s.dim),
				kNorm:          newRMSNorm(b, run, at+".self_attn.key_layernorm", s.dim),
			},
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

type hunYuanAttention struct {
	*llamaAttention
	qNorm, kNorm *rmsNorm // per head, after the rotation
}

func (a *hunYuanAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	query, key, value := a.project(fn, hidden)
	q, k := a.m.applyRotary(query, key, 0, nil)
	fn.Set2(&query, q, &key, k)
	fn.Set(&query, a.qNorm.Call(query))
	fn.Set(&key, a.kNorm.Call(key))
	return a.finish(fn, query, &key, value)
}
