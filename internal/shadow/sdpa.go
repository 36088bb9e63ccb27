// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// F.scaled_dot_product_attention and its kernels, continued in sdpa_flash.go and sdpa_math.go.
// kernel/attention.go chooses among the kernels and computes their workspaces.

// Attention holds the arguments of SDPA. Query is [B, H, Sq, D]; Key and Value are [B, Hkv, Skv, D]. Mask is
// additive, boolean or nil.
type Attention struct {
	Query, Key, Value, Mask *Tensor // Mask may be nil
	Dropout                 float64 // dropout probability of the scores
	Causal                  bool    // is_causal
	GQA                     bool    // enable_gqa: key and value have fewer heads
}

// SDPA is F.scaled_dot_product_attention. The result is [B, H, Sq, D], in a layout in
// which transposing heads and tokens back is free.
func (w *World) SDPA(a Attention) *Tensor {
	args := []*Tensor{a.Query, a.Key, a.Value, a.Mask}
	mark := w.pin(args...)
	low := make([]*Tensor, 4)
	for i := 3; i >= 0; i-- {
		low[i] = w.toAutocastType(args[i])
		w.pin(low[i])
	}
	b := a
	if w.Eval || w.Undropped {
		b.Dropout = 0
	}
	b.Query, b.Key, b.Value, b.Mask = low[0], low[1], low[2], low[3]
	out := w.attend(w.Rules.AttentionBackend(b.numbers()), b)
	w.unpin(mark)
	return out
}

// attend runs one of the kernels. A boolean mask becomes an additive one first.
func (w *World) attend(by kernel.Backend, a Attention) *Tensor {
	mark := w.pin()
	if a.Mask != nil && a.Mask.dtype == Bool {
		a.Mask = w.additiveMask(a.Mask, a.Query.dtype)
		w.pin(a.Mask)
	}
	switch by {
	case kernel.Cudnn:
		return w.cudnnAttention(a)
	case kernel.Efficient:
		a.Mask = a.biasFor().Hold()
		w.unpin(mark) // frees a padded mask
		w.pin(a.Mask.loosen())
		return w.efficientAttention(a)
	case kernel.Flash:
		return w.flashAttention(a)
	}
	return w.mathAttention(a)
}

// numbers returns the values that determine the choice of kernel.
func (a Attention) numbers() kernel.Attention {
	q, k := a.Query, a.Key
	n := kernel.Attention{
		Type: q.dtype.Kernel(), Batch: q.Size(0), Heads: q.Size(1), KeyHeads: k.Size(1), Queries: q.Size(2), Keys: k.Size(2), Width: q.Size(3),
		GQA: a.GQA, Dropout: a.Dropout > 0,
	}
	if m := a.Mask; m != nil {
		n.Mask = kernel.Mask{Given: true, Trained: m.requiresGrad, Strided: m.stride.d[m.size.n-1] != 1}
	}
	return n
}

// cudnnAttention saves q, k, v, its result, the log-sum-exp and two random generator counters.
func (w *World) cudnnAttention(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductCudnnAttentionBackward0", q, k, v)
	if a.Mask != nil {
		n.save(a.Mask)
	}
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.Op("_scaled_dot_product_cudnn_attention")
	seed := w.Empty(Dims(), Int64)
	offset := w.Empty(Dims(), Int64)
	out := w.emptyStrided(q.size.With(3, v.Size(-1)), q.denseLayout(), q.dtype)
	lse := n.logSumExp(q.size.With(3, 1))
	w.kernelScratch(w.Rules.CudnnForward(a.numbers()))
	w.attentionCost(a, CudnnAttending, 2)
	n.save(lse)
	n.save(out)
	n.save(offset)
	n.save(seed)
	dropTemporaries(lse, seed, offset)
	n.backward(func(g *Tensor) []*Tensor {
		q, k, v := sq.get(), sk.get(), sv.get()
		w.Op("_scaled_dot_product_cudnn_attention_backward")
		dq := w.emptyStrided(q.size, q.denseLayout(), q.dtype)
		dk := w.emptyStrided(k.size, k.denseLayout(), k.dtype)
		dv := w.emptyStrided(v.size, v.denseLayout(), v.dtype)
		w.kernelScratch(w.Rules.CudnnBackward(Attention{Query: q, Key: k}.numbers()))
		w.attentionCost(a.like(q, k), CudnnAttending, 5)
		return inputGrads(dq, dk, dv)
	})
	return n.result(out)
}

// efficientAttention is the memory-efficient kernel, used for float32 or an explicit mask that needs a gradient.
func (w *World) efficientAttention(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductEfficientAttentionBackward0", q, k, v, a.Mask)
	var mask *saved
	if a.Mask != nil {
		mask = n.save(a.Mask)
	}
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.Op("_scaled_dot_product_efficient_attention")
	b, h, s := q.Size(0), q.Size(1), q.Size(2)
	size := q.size.With(3, v.Size(-1))
	out := w.emptyStrided(size, bshd(size), q.dtype)
	lse := n.logSumExp(Dims(b, h, (s+31)/32*32))
	w.kernelScratch(w.Rules.EfficientForward(a.numbers()))
	w.attentionCost(a, Efficient, 2)
	n.save(lse)
	n.save(out)
	dropTemporaries(lse)
	n.backward(func(g *Tensor) []*Tensor {
		q, k := sq.get(), sk.get()
		w.attentionCost(a.like(q, k), Efficient, 5)
		return w.efficientBackward(g, q, k, sv.get(), mask, n.needsGrad(3))
	})
	return n.result(out)
}

// logSumExp allocates one number per query and head, which these kernels write only for the backward pass
// (sdp_utils.h: should_compute_logsumexp).
func (n *node) logSumExp(size Shape) *Tensor {
	if n == nil {
		return nil
	}
	return n.w.Empty(size, Float32)
}

// efficientBackward expects the gradient with tokens before heads, and copies it otherwise.
func (w *World) efficientBackward(g, q, k, v *Tensor, mask *saved, maskGrad bool) []*Tensor {
	w.Op("_scaled_dot_product_efficient_attention_backward")
	var copied *storage
	if !sameStrides(g.size, g.stride, bshd(g.size)) {
		copied = w.alloc(g.Bytes())
	}
	dq := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	dk := w.emptyStrided(k.size, bshd(k.size), k.dtype)
	dv := w.emptyStrided(v.size, bshd(v.size), v.dtype)
	var dm *Tensor
	if maskGrad {
		dm = w.biasGrad(mask.get())
	}
	delta := w.efficientDelta(q, v.Size(-1), uint64(q.Size(0)*q.Size(1)*q.Size(2))*4)
	work := w.alloc(w.kernelBytes(w.Rules.EfficientBackward(Attention{Query: q, Key: k}.numbers())))
	w.release(delta)
	w.release(work)
	w.release(copied)
	return inputGrads(dq, dk, dv, dm)
}

// efficientDelta allocates one number per query and head. For 16-bit types the kernel computes it; for float32 it
// is (grad * out).sum(-1), ordered by head, which needs a copy if there are several heads and queries.
func (w *World) efficientDelta(q *Tensor, width int, bytes uint64) *storage {
	if q.dtype != Float32 {
		return w.alloc(bytes)
	}
	prod := w.alloc(uint64(q.Numel()/q.Size(3)*width) * q.dtype.Bytes())
	sum := w.alloc(bytes)
	delta := sum
	if q.Size(1) > 1 && q.Size(2) > 1 {
		delta = w.alloc(bytes)
		w.release(sum)
	}
	w.release(prod)
	return delta
}

// biasGrad allocates the gradient of the mask. It is a view of rows padded to a multiple of 16 elements.
func (w *World) biasGrad(mask *Tensor) *Tensor {
	cols := mask.Size(-1)
	full := w.Empty(mask.size.With(mask.size.n-1, (cols+15)/16*16), mask.dtype)
	if full.size == mask.size {
		return full
	}
	out := full.alias(mask.size, full.stride)
	full.die()
	return out
}

// denseLayout returns t's own strides if it is dense, otherwise row-major ones. cuDNN's wrapper allocates results
// and gradients in this layout.
func (t *Tensor) denseLayout() Shape {
	if isDense(t.size, t.stride) {
		return t.stride
	}
	return sortedLayout(t.size, []*Tensor{t})
}

// bshd returns the strides of [B, H, S, D] stored as [B, S, H, D].
func bshd(s Shape) Shape {
	b, h, n, d := s.d[0], s.d[1], s.d[2], s.d[3]
	_ = b
	return Dims(n*h*d, d, h*d, 1)
}

// like returns the arguments of a backward: the saved queries and keys, with the settings of the forward.
func (a Attention) like(q, k *Tensor) Attention {
	return Attention{Query: q, Key: k, Dropout: a.Dropout, Causal: a.Causal}
}

// attentionCost counts the matrix products of an attention kernel, and the random numbers it draws for dropout. A
// causal kernel skips half of the scores.
func (w *World) attentionCost(a Attention, kind Work, products float64) {
	if w.Meter == nil {
		return
	}
	q, k := a.Query, a.Key
	scores := float64(q.Size(0)*q.Size(1)*q.Size(2)) * float64(k.Size(2))
	if a.Causal {
		scores /= 2
	}
	c := Kernel{
		Work: kind, Flops: 2 * products * scores * float64(q.Size(3)), Bytes: 2 * float64(q.Bytes()+k.Bytes()), DType: q.dtype,
		B: int32(q.Size(0) * q.Size(1)), M: int32(q.Size(2)), N: int32(k.Size(2)), K: int32(q.Size(3)),
	}
	if a.Dropout > 0 {
		c.Draws = scores
	}
	w.Meter.Kernel(c)
}
