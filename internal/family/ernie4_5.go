// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newErnie45 makes ERNIE 4.5: Llama that rotates neighboring elements in float32
// (transformers/models/ernie4_5/modular_ernie4_5.py).
func newErnie45(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 1024, layers: 18, heads: 16, kv: 2, inter: 3072, vocab: 103424})
	s.dim = c.Positive("head_dim", 128)
	s.qkvBias = c.Bool("use_bias", false)
	s.oBias, s.mlpBias = s.qkvBias, s.qkvBias
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.rotate = singlePairRotary
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, s.mlpBias, act),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.rotary.inFloat32()
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, true)
	return m, nil
}

// singlePairRotary is ERNIE's apply_rotary_pos_emb: it rotates neighboring elements in float32 and casts the results
// back.
func singlePairRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	dtype := q.DType()
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	fn.Set(&cos, cos.Slice(-1, 0, cos.Size(-1)/2).RepeatInterleave(2, -1))
	fn.Set(&sin, sin.Slice(-1, 0, sin.Size(-1)/2).RepeatInterleave(2, -1))
	qe := fn.Let(q.Float().Mul(cos).Add(rotateNeighbors(q).Float().Mul(sin)))
	ke := fn.Let(k.Float().Mul(cos).Add(rotateNeighbors(k).Float().Mul(sin)))
	return fn.Return2(qe.To(dtype), ke.To(dtype))
}
