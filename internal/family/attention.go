// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// The attention functions of decoders in transformers. Those of encoders are in encoder.go, masks in mask.go, and
// SDPA's kernels in shadow/sdpa.go.

// positions is torch.arange(S) + past, with a batch dimension.
func positions(fn *shadow.Frame, w *shadow.World, seq int) *shadow.Tensor {
	p := fn.Let(w.Arange(seq).AddScalar())
	fn.Set(&p, p.Unsqueeze(0))
	return p
}

// attending holds an attention function's arguments besides queries, keys and values.
type attending struct {
	mask    *shadow.Tensor // (B, 1, S, S), or nil
	causal  bool           // the module's is_causal
	dropout float64
	softcap bool           // scores are capped with a tanh, in eager attention only
	sinks   *shadow.Tensor // one more score per head, which belongs to no token; nil if there is none
}

// attention is ALL_ATTENTION_FUNCTIONS: query is (B, H, S, D), key and value (B, Hkv, S, D). It returns (B, S, H,
// D), and the attention weights if the function computes them. Callers keep the weights alive as long as the Python
// code does.
func (n net) attention(q, k, v *shadow.Tensor, a attending) (out, weights *shadow.Tensor) {
	if a.sinks != nil {
		return n.sinkAttention(q, k, v, a)
	}
	switch n.run.Attention {
	case "eager":
		return n.eagerAttention(q, k, v, a)
	case "flash":
		return n.w.FlashAttention(q, k, v, a.causal).Transpose(1, 2), nil
	}
	return n.sdpaAttention(q, k, v, a), nil
}

// sdpaAttention is sdpa_attention_forward. With a mask, or if heads are too wide, grouped keys and values are
// repeated for every query head.
func (n net) sdpaAttention(q, k, v *shadow.Tensor, a attending) *shadow.Tensor {
	fn := n.w.Func(q, k, v, a.mask)
	groups := q.Size(1) / k.Size(1)
	gqa := groups > 1 && a.mask == nil && k.Size(-1) == v.Size(-1) && k.Size(-1) <= 256
	if !gqa {
		fn.Set(&k, repeatKV(k, groups))
		fn.Set(&v, repeatKV(v, groups))
	}
	out := fn.Let(n.w.SDPA(shadow.Attention{
		Query: q, Key: k, Value: v, Mask: a.mask, Dropout: a.dropout,
		Causal: a.causal && a.mask == nil && q.Size(2) > 1, GQA: gqa,
	}))
	fn.Set(&out, out.Transpose(1, 2).Contiguous())
	return fn.Return(out)
}

// eagerAttention is eager_attention_forward of Llama, which most later models share.
func (n net) eagerAttention(q, k, v *shadow.Tensor, a attending) (out, weights *shadow.Tensor) {
	fn := n.w.Func(q, k, v, a.mask)
	groups := q.Size(1) / k.Size(1)
	keys := fn.Let(repeatKV(k, groups))
	values := fn.Let(repeatKV(v, groups))
	fn.Set(&weights, q.Matmul(keys.Transpose(2, 3)).MulScalar()) // (B, H, S, S)
	if a.softcap {
		fn.Set(&weights, weights.DivScalar())
		fn.Set(&weights, weights.Tanh())
		fn.Set(&weights, weights.MulScalar())
	}
	if a.mask != nil {
		fn.Set(&weights, weights.Add(a.mask))
	}
	fn.Set(&weights, weights.Softmax(shadow.Float32).To(q.DType()))
	fn.Set(&weights, weights.Dropout(a.dropout))
	fn.Set(&out, weights.Matmul(values)) // (B, H, S, D)
	fn.Set(&out, out.Transpose(1, 2).Contiguous())
	return fn.Return2(out, weights)
}

// repeatKV is repeat_kv: (B, Hkv, S, D) to (B, H, S, D).
func repeatKV(x *shadow.Tensor, groups int) *shadow.Tensor {
	if groups == 1 {
		return x
	}
	fn := x.World().Func(x)
	B, H, S, D := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	fn.Set(&x, x.Unsqueeze(2).Expand(B, H, groups, S, D))
	return fn.Return(x.Reshape(B, H*groups, S, D))
}
