// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// litAttention is CausalSelfAttention: one product computes queries, keys and values.
type litAttention struct {
	shadow.Path
	m                *litGPT
	qkv, proj        *nn.Linear
	heads, kv, width int
}

func newLitAttention(b *nn.Builder, m *litGPT, at string, s llamaShape) *litAttention {
	return &litAttention{
		Path: shadow.Path(at), m: m, heads: s.heads, kv: s.kv, width: s.dim,
		qkv: b.AdaptedQKV(m.run.Lora, at, s.hidden, nn.QKV{
			"q_proj": s.heads * s.dim, "k_proj": s.kv * s.dim, "v_proj": s.kv * s.dim,
		}, s.qkvBias),
		proj: b.AdaptedLinear(m.run.Lora, at+".o_proj", s.heads*s.dim, s.hidden, s.oBias),
	}
}

func (a *litAttention) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	B, T := x.Size(0), x.Size(1)
	qkv := fn.Let(a.qkv.Call(x)) // (B, T, (H + 2 Hkv) D)
	first := a.m.run.LitGPT.First
	q, k, v := a.parts(fn, qkv, first) // (B, H, T, D)
	qRoped := fn.Let(a.m.rope(q))
	kRoped := fn.Let(a.m.rope(k))
	fn.Set(&q, shadow.Cat(-1, qRoped)) // the unrotated rest of each head is empty
	fn.Set(&k, shadow.Cat(-1, kRoped))
	if !first {
		a.repeat(fn, &k, &v)
	}
	y, _ := a.m.attention(q, k, v, attending{causal: true})
	fn.Let(y)
	fn.Set(&y, y.Reshape(B, T, a.heads*a.width))
	return a.proj.Call(y)
}

// parts splits queries, keys and values. The first version interleaved them by group of heads, and repeated keys
// and values before the rotation.
func (a *litAttention) parts(fn *shadow.Frame, qkv *shadow.Tensor, first bool) (q, k, v *shadow.Tensor) {
	B, T := qkv.Size(0), qkv.Size(1)
	if !first {
		split := func(x *shadow.Tensor) *shadow.Tensor { return fn.Let(x.View(B, T, -1, a.width).Transpose(1, 2)) }
		parts := qkv.Split(-1, a.heads*a.width, a.kv*a.width, a.kv*a.width)
		return split(parts[0]), split(parts[1]), split(parts[2])
	}
	per := a.heads / a.kv
	parts := qkv.View(B, T, a.kv, per+2, a.width).Permute(0, 2, 3, 1, 4).Split(2, per, 1, 1)
	split := func(x *shadow.Tensor) *shadow.Tensor {
		return fn.Let(x.Expand(B, a.kv, per, T, a.width).Reshape(B, -1, T, a.width))
	}
	return split(parts[0]), split(parts[1]), split(parts[2])
}

// repeat gives each query head its own keys and values.
func (a *litAttention) repeat(fn *shadow.Frame, k, v **shadow.Tensor) {
	fn.Set(k, repeatKV(*k, a.heads/a.kv))
	fn.Set(v, repeatKV(*v, a.heads/a.kv))
}

// rope is apply_rope. The angles cover the positions of the longest sample.
func (m *litGPT) rope(x *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(x)
	cos, sin := m.cos.Slice(0, 0, x.Size(2)), m.sin.Slice(0, 0, x.Size(2))
	rotated := fn.Let(rotateHalf(x))
	roped := fn.Let(x.Mul(cos).Add(rotated.Mul(sin)))
	return fn.Return(roped.To(x.DType()))
}
