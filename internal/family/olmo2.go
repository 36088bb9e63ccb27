// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// OLMo 2: transformers/models/olmo2/modular_olmo2.py. It is OLMo with RMS norms after attention and MLP, and
// norms over all queries and all keys.

func newOLMo2(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 32, heads: 32, inter: 11008, vocab: 50304})
	m := newOLMo2Stack(b, c, run, s)
	m.norm = newOLMo2Norm(b, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.rotary.inFloat32()
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// newOLMo2Stack makes the embeddings and layers of OLMo 2 and OLMo 3.
func newOLMo2Stack(b *nn.Builder, c *Config, run Run, s llamaShape) *llama {
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "silu")
	return newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.rotate, attn.window = c.Float("attention_dropout", 0), singleRotary, s.masks.windows[i]
		return &olmo2Layer{
			Path: shadow.Path(at),
			attn: &olmoAttention{
				llamaAttention: attn,
				qNorm:          newOLMo2Norm(b, at+".self_attn.q_norm", s.heads*s.dim),
				kNorm:          newOLMo2Norm(b, at+".self_attn.k_norm", s.kv*s.dim),
			},
			mlp:      newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			postAttn: newOLMo2Norm(b, at+".post_attention_layernorm", s.hidden),
			postFeed: newOLMo2Norm(b, at+".post_feedforward_layernorm", s.hidden),
		}
	})
}

type olmo2Layer struct {
	shadow.Path
	attn               *olmoAttention
	mlp                *llamaMLP
	postAttn, postFeed *olmo2Norm
}

func (l *olmo2Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, w.Call(l.postAttn, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, w.Call(l.postFeed, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// olmo2Norm is Olmo2RMSNorm: it scales in float32, then casts back.
type olmo2Norm struct {
	shadow.Path
	weight *shadow.Tensor
}

func newOLMo2Norm(b *nn.Builder, at string, width int) *olmo2Norm {
	return &olmo2Norm{shadow.Path(at), b.Parameter(at+".weight", width)}
}

// orNone applies the norm, or returns x if n is nil.
func (n *olmo2Norm) orNone(x *shadow.Tensor) *shadow.Tensor {
	if n == nil {
		return x
	}
	return x.World().Call(n, x)
}

// Forward is the module's forward.
func (n *olmo2Norm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	fn.Set(&hidden, hidden.To(shadow.Float32))
	variance := fn.Let(hidden.Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Mul(variance.AddScalar().Rsqrt()))
	return n.weight.Mul(hidden).To(dtype)
}
