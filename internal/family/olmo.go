// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// newOLMo makes OLMo: Llama with layer norms that have no parameters, and a rotation in float32
// (transformers/models/olmo/modular_olmo.py).
func newOLMo(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 50304})
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	clips := c.Float("clip_qkv", 0) != 0
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, _ int, at string) shadow.Module {
		attn := &olmoAttention{llamaAttention: newLlamaAttention(b, m, at+".self_attn", s), clips: clips}
		attn.dropout, attn.rotate = c.Float("attention_dropout", 0), singleRotary
		return &llamaLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:       newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			inputNorm: olmoNorm{shadow.Path(at + ".input_layernorm")},
			postNorm:  olmoNorm{shadow.Path(at + ".post_attention_layernorm")},
		}
	})
	m.norm = olmoNorm{"model.norm"}
	m.rotary = sharedRotary(b, c, s.dim)
	m.rotary.inFloat32()
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// olmoAttention is OlmoAttention or, with norms, Olmo2Attention.
type olmoAttention struct {
	*llamaAttention
	qNorm, kNorm *olmo2Norm
	clips        bool // queries, keys and values are clamped
}

func (a *olmoAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.qNorm.orNone(a.q.Call(hidden))) // (B, S, H·D)
	key := fn.Let(a.kNorm.orNone(a.k.Call(hidden)))   // (B, S, Hkv·D)
	value := fn.Let(a.v.Call(hidden))                 // (B, S, Hkv·D)
	if a.clips {                                      // in place, for which autograd copies the original: as many bytes as a new result would take
		fn.Set(&query, query.Clamp())
		fn.Set(&key, key.Clamp())
		fn.Set(&value, value.Clamp())
	}
	fn.Set(&query, query.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&key, key.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&value, value.View(B, S, -1, a.headDim).Transpose(1, 2))
	return a.attend(fn, &query, &key, value)
}

// olmoNorm is OlmoLayerNorm.
type olmoNorm struct{ shadow.Path }

// Forward is the module's forward.
func (n olmoNorm) Forward(_ *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	return hidden.To(shadow.Float32).LayerNorm(nil, nil).To(dtype)
}

// singleRotary is OLMo's apply_rotary_pos_emb: it rotates with float32 angles and casts the results back.
func singleRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	dtype := q.DType()
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	qe := fn.Let(q.Mul(cos).Add(rotateHalf(q).Mul(sin)))
	ke := fn.Let(k.Mul(cos).Add(rotateHalf(k).Mul(sin)))
	return fn.Return2(qe.To(dtype), ke.To(dtype))
}
