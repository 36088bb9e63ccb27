// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// tuneAttention is MultiHeadAttention (torchtune 0.6.1, modules/attention.py). It copies keys and values for
// every query head.
type tuneAttention struct {
	shadow.Path
	m          *tuneDecoder
	q, k, v, o *nn.Linear
	headDim    int
	groups     int // query heads per key-value head
	dropout    float64
}

func newTuneAttention(b *nn.Builder, m *tuneDecoder, at string, s llamaShape) *tuneAttention {
	l := m.run.Lora
	return &tuneAttention{
		Path: shadow.Path(at), m: m, headDim: s.dim, groups: s.heads / s.kv,
		q: b.AdaptedLinear(l, at+".q_proj", s.hidden, s.heads*s.dim, s.qkvBias),
		k: b.AdaptedLinear(l, at+".k_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		v: b.AdaptedLinear(l, at+".v_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		o: b.AdaptedLinear(l, at+".o_proj", s.heads*s.dim, s.hidden, s.oBias),
	}
}

func (a *tuneAttention) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	B, S := x.Size(0), x.Size(1)
	q := fn.Let(a.q.Call(x))
	fn.Set(&q, q.View(B, S, -1, a.headDim))
	fn.Set(&q, a.m.rotate(q))
	fn.Set(&q, q.Transpose(1, 2)) // (B, H, S, D)
	k := fn.Let(a.k.Call(x))
	v := fn.Let(a.v.Call(x))
	fn.Set(&k, k.View(B, S, -1, a.headDim))
	fn.Set(&v, v.View(B, S, -1, a.headDim))
	fn.Set(&k, a.m.rotate(k))
	fn.Set(&k, k.Transpose(1, 2)) // (B, Hkv, S, D)
	fn.Set(&v, v.Transpose(1, 2))
	if a.groups > 1 {
		fn.Set(&k, repeatKV(k, a.groups))
		fn.Set(&v, repeatKV(v, a.groups))
	}
	out := fn.Let(a.attend(q, k, v))
	fn.Set(&out, out.Transpose(1, 2).Contiguous().View(B, S, -1))
	return a.o.Call(out)
}

// attend is _attention_call. A packed batch has a boolean mask.
func (a *tuneAttention) attend(q, k, v *shadow.Tensor) *shadow.Tensor {
	mask := a.m.packed.mask
	fn := a.m.w.Func(q, k, v, mask)
	if mask != nil {
		fn.Set(&mask, mask.Unsqueeze(1))
	}
	return fn.Return(a.m.w.SDPA(shadow.Attention{Query: q, Key: k, Value: v, Mask: mask, Dropout: a.dropout, Causal: mask == nil}))
}
