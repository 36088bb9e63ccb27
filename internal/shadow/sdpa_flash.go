// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"cmp"

	"snug/internal/kernel"
)

// The flash kernel (aten/src/ATen/native/transformers/cuda/flash_attn, 2.11).

// FlashAttention is flash_attn_func from the flash-attn package, the origin of PyTorch's own kernel, on [B, H, S,
// D]. It does not support float32: transformers first casts float32 queries, keys and values to autocast's type,
// or to the type that a quantized model was loaded in.
func (w *World) FlashAttention(q, k, v *Tensor, causal bool) *Tensor {
	fn := w.Func(q, k, v)
	if dt := cmp.Or(w.autocast, w.Loaded); q.dtype == Float32 && dt != None {
		fn.Set(&q, q.To(dt))
		fn.Set(&k, k.To(dt))
		fn.Set(&v, v.To(dt))
	}
	return fn.Return(w.flashAttention(Attention{Query: q, Key: k, Value: v, Causal: causal}))
}

// flashAttention supports heads whose width is a multiple of eight; other heads are padded, and the result is a slice
// without the padding.
func (w *World) flashAttention(a Attention) *Tensor {
	d := a.Query.Size(-1)
	pad := kernel.FlashPadding(d)
	if pad == 0 {
		return w.flashKernel(a)
	}
	a.Query, a.Key, a.Value = a.Query.Pad(0, pad), a.Key.Pad(0, pad), a.Value.Pad(0, pad)
	mark := w.pin(a.Query, a.Key, a.Value)
	out := w.flashKernel(a).Slice(-1, 0, d)
	w.unpin(mark)
	return out
}

func (w *World) flashKernel(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductFlashAttentionBackward0", q, k, v)
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.Op("_scaled_dot_product_flash_attention")
	out := w.emptyStrided(q.size, q.denseLayout(), q.dtype)
	lse := w.Empty(Dims(q.Size(0), q.Size(1), q.Size(2)), Float32)
	partial := w.flashSplits(a)
	rng := w.Empty(Dims(2), Int64)
	unused := w.Empty(Dims(), Int64)
	if a.Dropout > 0 { // the generator's state replaces the placeholder
		state := w.Empty(Dims(2), Int64)
		rng.die()
		rng = state
	}
	for _, m := range partial {
		w.release(m)
	}
	w.attentionCost(a, Attending, 2)
	n.save(lse)
	so := n.save(out)
	n.save(rng)
	n.save(unused)
	dropTemporaries(lse, rng, unused)
	n.backward(func(g *Tensor) []*Tensor {
		q, k := sq.get(), sk.get()
		w.attentionCost(a.like(q, k), Attending, 5)
		return w.flashBackward(g, so.get(), q, k, sv.get())
	})
	return n.result(out)
}

// flashSplits allocates the partial results if keys are split across blocks.
func (w *World) flashSplits(a Attention) []*storage {
	sums, results := w.Rules.FlashSplits(a.numbers())
	if results == 0 {
		return nil
	}
	return []*storage{w.alloc(sums), w.alloc(results)}
}

// flashBackward needs dq in float32, and one number per query and head. With grouped heads it also needs dk and dv
// for every query head, which are then summed.
func (w *World) flashBackward(g, out, q, k, v *Tensor) []*Tensor {
	w.Op("_scaled_dot_product_flash_attention_backward")
	var copies []*storage // copies of g and out: the kernel expects tokens before heads
	for _, t := range []*Tensor{g, out} {
		if stride := bshd(t.size); !sameStrides(t.size, t.stride, stride) {
			copies = append(copies, w.alloc(t.Bytes()))
		}
	}
	dq := w.emptyStrided(q.size, q.denseLayout(), q.dtype)
	dk := w.emptyStrided(k.size, k.denseLayout(), k.dtype)
	dv := w.emptyStrided(v.size, v.denseLayout(), v.dtype)
	delta, sum, wide := kernel.FlashBackward(Attention{Query: q, Key: k}.numbers())
	scratch := append(copies, w.alloc(delta), w.alloc(sum))
	if wide > 0 {
		scratch = append(scratch, w.alloc(wide), w.alloc(wide))
	}
	for i := len(scratch) - 1; i >= 0; i-- {
		w.release(scratch[i])
	}
	return inputGrads(dq, dk, dv)
}
