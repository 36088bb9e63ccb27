// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The encoder layers of CLIP and SigLIP (transformers/models/clip/modeling_clip.py, siglip/modeling_siglip.py), for texts
// and for images. The two differ in the order of their modules, and in when queries, keys and values are reshaped, which
// needs no memory.

// clipShape holds the sizes of a layer.
type clipShape struct {
	hidden, heads, inter int
	act                  activation
	dropout              float64 // of attention weights
	causal               bool    // tokens attend to earlier tokens only
	siglip               bool    // the layers of SigLIP
}

// readCLIP reads the sizes of a tower's layers.
func readCLIP(c *Config, usual clipShape, act string) clipShape {
	return clipShape{
		hidden: c.Positive("hidden_size", usual.hidden), heads: c.Positive("num_attention_heads", usual.heads),
		inter: c.Positive("intermediate_size", usual.inter), act: c.activation("hidden_act", act), dropout: c.Float("attention_dropout", 0),
	}
}

// clipLayer is CLIPEncoderLayer and SiglipEncoderLayer.
type clipLayer struct {
	shadow.Path
	norm1, norm2 *nn.LayerNorm
	attn         *clipAttention
	mlp          *vitMLP
}

func newCLIPLayer(b *nn.Builder, c *Config, n net, at string, s clipShape) *clipLayer {
	l := &clipLayer{Path: shadow.Path(at)}
	if s.siglip {
		l.norm1 = b.LayerNorm(at+".layer_norm1", s.hidden, true)
		l.attn = newCLIPAttention(b, c, n, at+".self_attn", s)
	} else {
		l.attn = newCLIPAttention(b, c, n, at+".self_attn", s)
		l.norm1 = b.LayerNorm(at+".layer_norm1", s.hidden, true)
		l.mlp = newCLIPMLP(b, at+".mlp", s)
	}
	l.norm2 = b.LayerNorm(at+".layer_norm2", s.hidden, true)
	if s.siglip {
		l.mlp = newCLIPMLP(b, at+".mlp", s)
	}
	return l
}

func (l *clipLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.norm1.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.norm2.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// clipAttention is CLIPAttention and SiglipAttention.
type clipAttention struct {
	shadow.Path
	net
	k, v, q, o *nn.Linear
	dim        int
	dropout    float64
	causal     bool
	siglip     bool // queries, keys and values are reshaped one by one
}

func newCLIPAttention(b *nn.Builder, c *Config, n net, at string, s clipShape) *clipAttention {
	return &clipAttention{
		Path: shadow.Path(at), net: n, dim: c.HeadDim(s.hidden, s.heads), dropout: s.dropout, causal: s.causal, siglip: s.siglip,
		k: b.Linear(at+".k_proj", s.hidden, s.hidden, true),
		v: b.Linear(at+".v_proj", s.hidden, s.hidden, true),
		q: b.Linear(at+".q_proj", s.hidden, s.hidden, true),
		o: b.Linear(at+".out_proj", s.hidden, s.hidden, true),
	}
}

func (a *clipAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	shape := func(x *shadow.Tensor) *shadow.Tensor { return x.View(B, S, -1, a.dim).Transpose(1, 2) } // (B, H, S, D)
	var q, k, v *shadow.Tensor
	if a.siglip {
		q, k, v = fn.Let(shape(a.q.Call(hidden))), fn.Let(shape(a.k.Call(hidden))), fn.Let(shape(a.v.Call(hidden)))
	} else {
		q, k, v = fn.Let(a.q.Call(hidden)), fn.Let(a.k.Call(hidden)), fn.Let(a.v.Call(hidden))
		for _, x := range []**shadow.Tensor{&q, &k, &v} {
			fn.Set(x, shape(*x))
		}
	}
	out, weights := a.attention(q, k, v, attending{causal: a.causal, dropout: a.dropout}) // (B, S, H, D)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

func newCLIPMLP(b *nn.Builder, at string, s clipShape) *vitMLP {
	return &vitMLP{Path: shadow.Path(at), act: s.act, fc1: b.Linear(at+".fc1", s.hidden, s.inter, true), fc2: b.Linear(at+".fc2", s.inter, s.hidden, true)}
}
