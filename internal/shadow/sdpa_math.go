// SPDX-License-Identifier: Apache-2.0

package shadow

// mathAttention is _scaled_dot_product_attention_math: the composite for arguments that no kernel supports. It
// computes 16-bit inputs in float32.
func (w *World) mathAttention(a Attention) *Tensor {
	dtype := a.Query.dtype
	fn := w.Func(a.Query, a.Key, a.Value, a.Mask)
	query, key, value := fn.Let(a.Query.accurate()), fn.Let(a.Key.accurate()), fn.Let(a.Value.accurate())
	q := fn.Let(query.MulScalar())
	mask := a.Mask
	if a.Causal && mask == nil {
		mask = fn.Let(w.causalBias(q.Size(-2), key.Size(-2), q.dtype))
	}
	if a.GQA {
		key = fn.Let(key.repeatInterleave(q.Size(1) / key.Size(1)))
		value = fn.Let(value.repeatInterleave(q.Size(1) / value.Size(1)))
	}
	attn := fn.Let(w.scores(q, key)) // (B, H, Sq, Skv)
	switch {
	case mask != nil && w.OutOfPlace:
		fn.Set(&attn, attn.Add(mask))
	case mask != nil:
		fn.Set(&attn, attn.addInPlace(mask))
	}
	fn.Set(&attn, attn.safeSoftmax())
	fn.Set(&attn, attn.Dropout(a.Dropout))
	fn.Let(attn.To(dtype)) // the second result, which is not used
	return fn.Return(attn.matmul(value).To(dtype))
}

// scores is q @ (scaled k).T; the scaled keys live until the product is computed.
func (w *World) scores(q, k *Tensor) *Tensor {
	fn := w.Func(q)
	scaled := fn.Let(k.Transpose(-2, -1).MulScalar())
	return fn.Return(q.matmul(scaled))
}

// accurate returns t in float32 if it is a 16-bit float.
func (t *Tensor) accurate() *Tensor {
	if t.dtype.Half() {
		return t.cast(Float32)
	}
	return t
}

// causalBias is ones(L, S).tril(), converted to a floating-point mask.
func (w *World) causalBias(rows, cols int, dt DType) *Tensor {
	return w.additiveMask(w.Full(Bool, rows, cols).plain("tril", Bool), dt)
}

// additiveMask is convert_boolean_attn_mask: zero where the mask is true, minus
// infinity or the smallest number elsewhere.
func (w *World) additiveMask(mask *Tensor, dt DType) *Tensor {
	low := w.Full(dt)
	return WhereBoth(mask, w.Full(dt), low)
}

// repeatInterleave is t.repeat_interleave(times, 1) on [B, H, S, D].
func (t *Tensor) repeatInterleave(times int) *Tensor {
	b, h, s, d := t.Size(0), t.Size(1), t.Size(2), t.Size(3)
	return t.Unsqueeze(2).Expand(b, h, times, s, d).clone(Dims(h*times*s*d, times*s*d, s*d, d, 1)).View(b, h*times, s, d)
}

// safeSoftmax is _safe_softmax over the last dimension. It sets fully masked rows to zero, which requires a
// comparison and a reduction.
func (t *Tensor) safeSoftmax() *Tensor {
	w := t.w
	n := w.record("SafeSoftmaxBackward0", t)
	w.Op("_safe_softmax")
	out := w.Empty(t.size, t.dtype)
	masked := w.alloc(uint64(t.Numel()))
	rows := w.alloc(uint64(t.Numel() / max(t.Size(-1), 1)))
	zero := w.alloc(t.dtype.Bytes())
	for _, m := range []*storage{zero, rows, masked} {
		w.release(m)
	}
	w.Launch(out, t)
	result := n.save(out)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.softmaxGrad("_softmax", result.get(), g.dtype)) })
	return n.result(out, t)
}

// biasFor prepares a mask for the memory-efficient kernel: it pads rows to a multiple of eight elements, and
// expands a view to every batch and head.
func (a Attention) biasFor() *Tensor {
	m := a.Mask
	if m == nil {
		return nil
	}
	aligned := m.stride.d[m.size.n-1] == 1
	for i := range m.size.n - 1 {
		aligned = aligned && m.stride.d[i]%8 == 0
	}
	if !aligned {
		cols := m.Size(-1)
		m = m.Pad(0, 8-cols%8).Slice(-1, 0, cols)
	}
	return m.Expand(a.Query.Size(0), a.Query.Size(1), a.Query.Size(2), a.Key.Size(2))
}
