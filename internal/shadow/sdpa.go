// SPDX-License-Identifier: Apache-2.0

package shadow

// F.scaled_dot_product_attention and the kernels behind it
// (aten/src/ATen/native/transformers, 2.11; checked on an H200).

// backend is one of the kernels that SDPA chooses among.
type backend int

const (
	flashBackend backend = iota
	efficientBackend
	mathBackend
	cudnnBackend
)

// Attention is what SDPA is asked for. Query is [B, H, Sq, D]; Key and Value
// are [B, Hkv, Skv, D]. Mask is added to the scores, or says yes and no, or is nil.
type Attention struct {
	Query, Key, Value, Mask *Tensor
	Dropout                 float64
	Causal                  bool
	GQA                     bool // enable_gqa: key and value have fewer heads
}

// SDPA is F.scaled_dot_product_attention. The result is [B, H, Sq, D], laid out
// so that transposing heads and tokens back is free.
func (w *World) SDPA(a Attention) *Tensor {
	args := []*Tensor{a.Query, a.Key, a.Value, a.Mask}
	mark := w.pin(args...)
	low := make([]*Tensor, 4)
	for i := 3; i >= 0; i-- {
		low[i] = w.toAutocastType(args[i])
		w.pin(low[i])
	}
	b := a
	b.Query, b.Key, b.Value, b.Mask = low[0], low[1], low[2], low[3]
	out := w.attend(w.Rules.attentionBackend(b), b)
	w.unpin(mark)
	return out
}

// attend runs one of the kernels. A boolean mask becomes an additive one first.
func (w *World) attend(kernel backend, a Attention) *Tensor {
	mark := w.pin()
	if a.Mask != nil && a.Mask.dtype == Bool {
		a.Mask = w.additiveMask(a.Mask, a.Query.dtype)
		w.pin(a.Mask)
	}
	switch kernel {
	case cudnnBackend:
		return w.cudnnAttention(a)
	case efficientBackend:
		a.Mask = a.biasFor().hold()
		w.unpin(mark) // a mask that was padded goes
		w.pin(a.Mask.loosen())
		return w.efficientAttention(a)
	case flashBackend:
		return w.flashAttention(a)
	}
	return w.mathAttention(a)
}

// attentionBackend is sdp_utils.cpp: the first kernel in PyTorch's order of
// preference that takes these arguments.
func (r Rules) attentionBackend(a Attention) backend {
	half := a.Query.dtype.Half()
	maskGrad := a.Mask != nil && a.Mask.needs
	switch {
	case r.cudnnFirst() && half && !maskGrad && a.Key.Size(2) > 1 && a.Query.Size(-1)%8 == 0 && a.Query.Size(-1) <= 256:
		return cudnnBackend
	case half && a.Mask == nil && a.Query.Size(-1) <= 256 && r.Capability >= 80:
		return flashBackend
	case !a.GQA && (a.Mask == nil || a.Mask.stride.d[a.Mask.size.n-1] == 1):
		return efficientBackend
	}
	return mathBackend
}

// cudnnFirst tells whether cuDNN is preferred: on Hopper and data-centre
// Blackwell from 2.9 on (with the cuDNN those versions ship).
func (r Rules) cudnnFirst() bool {
	return r.Torch >= 209 && (r.Capability == 90 || r.Capability == 100 || r.Torch >= 210 && r.Capability == 103)
}

// cudnnAttention saves q, k, v, its result, the log-sum-exp and two counters of
// the random generator.
func (w *World) cudnnAttention(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductCudnnAttentionBackward0", q, k, v)
	if a.Mask != nil {
		n.save(a.Mask)
	}
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.op("_scaled_dot_product_cudnn_attention")
	seed := w.empty(Dims(), Int64)
	offset := w.empty(Dims(), Int64)
	out := w.emptyStrided(q.size.with(3, v.Size(-1)), q.denseLayout(), q.dtype)
	lse := n.logSumExp(q.size.with(3, 1))
	if q.Size(2) > 1 {
		w.scratch(256)
	}
	w.attentionCost(q, k, 2)
	n.save(lse)
	n.save(out)
	n.save(offset)
	n.save(seed)
	done(lse, seed, offset)
	n.backward(func(g *Tensor) []*Tensor {
		q, k, v := sq.get(), sk.get(), sv.get()
		w.op("_scaled_dot_product_cudnn_attention_backward")
		dq := w.emptyStrided(q.size, q.denseLayout(), q.dtype)
		dk := w.emptyStrided(k.size, k.denseLayout(), k.dtype)
		dv := w.emptyStrided(v.size, v.denseLayout(), v.dtype)
		w.scratch(cudnnBackwardBytes(q, k))
		w.attentionCost(q, k, 5)
		return each(dq, dk, dv)
	})
	return n.result(out)
}

// cudnnBackwardBytes is cuDNN's workspace: dq in float32, one number per query
// and head, and with grouped heads dk and dv for every query head.
func cudnnBackwardBytes(q, k *Tensor) uint64 {
	b, h, s, d := uint64(q.Size(0)), uint64(q.Size(1)), uint64(q.Size(2)), uint64(q.Size(3))
	bytes := b*h*s*d*4 + b*h*s*4 + 256
	if k.Size(1) != q.Size(1) {
		bytes += 2 * b * h * uint64(k.Size(2)) * d * q.dtype.Bytes()
	}
	return bytes
}

// efficientAttention is the memory-efficient kernel: float32, or an explicit
// mask that wants a gradient.
func (w *World) efficientAttention(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductEfficientAttentionBackward0", q, k, v, a.Mask)
	var mask *saved
	if a.Mask != nil {
		mask = n.save(a.Mask)
	}
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.op("_scaled_dot_product_efficient_attention")
	b, h, s := q.Size(0), q.Size(1), q.Size(2)
	out := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	lse := n.logSumExp(Dims(b, h, (s+31)/32*32))
	if q.dtype.Half() && v.Size(-1) > 128 { // a wide head is summed in float32
		w.scratch(uint64(out.Numel()) * 4)
	}
	w.attentionCost(q, k, 2)
	slse := n.save(lse)
	sout := n.save(out)
	done(lse)
	n.backward(func(g *Tensor) []*Tensor {
		return w.efficientBackward(g, sq.get(), sk.get(), sv.get(), sout.get(), slse.get(), mask, n.needs(3))
	})
	return n.result(out)
}

// logSumExp is one number per query and head, which these kernels write for the
// backward pass alone (sdp_utils.h: should_compute_logsumexp).
func (n *node) logSumExp(size Shape) *Tensor {
	if n == nil {
		return nil
	}
	return n.w.empty(size, Float32)
}

func (w *World) efficientBackward(g, q, k, v, out, lse *Tensor, mask *saved, maskGrad bool) []*Tensor {
	w.op("_scaled_dot_product_efficient_attention_backward")
	dq := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	dk := w.emptyStrided(k.size, bshd(k.size), k.dtype)
	dv := w.emptyStrided(v.size, bshd(v.size), v.dtype)
	var dm *Tensor
	if maskGrad {
		dm = w.biasGrad(mask.get())
	}
	delta := w.efficientDelta(q, uint64(q.Size(0)*q.Size(1)*q.Size(2))*4)
	work := w.alloc(efficientWorkspace(q, k))
	w.release(delta)
	w.release(work)
	w.attentionCost(q, k, 5)
	return each(dq, dk, dv, dm)
}

// efficientDelta is one number per query and head. The kernel computes it for
// halves; for float32 it is (grad * out).sum(-1), put in order by head, which
// takes a copy where there are several heads and queries.
func (w *World) efficientDelta(q *Tensor, bytes uint64) *storage {
	if q.dtype != Float32 {
		return w.alloc(bytes)
	}
	prod := w.alloc(q.Bytes())
	sum := w.alloc(bytes)
	delta := sum
	if q.Size(1) > 1 && q.Size(2) > 1 {
		delta = w.alloc(bytes)
		w.release(sum)
	}
	w.release(prod)
	return delta
}

// biasGrad has rows of a multiple of 16 elements, of which the mask's are a view.
func (w *World) biasGrad(mask *Tensor) *Tensor {
	cols := mask.Size(-1)
	full := w.empty(mask.size.with(mask.size.n-1, (cols+15)/16*16), mask.dtype)
	if full.size == mask.size {
		return full
	}
	out := full.alias(mask.size, full.stride)
	full.die()
	return out
}

// efficientWorkspace is the dq accumulator of the kernel: for each head, block
// of queries and part of the head a lock of 16 bytes and a float32 tile. The
// tile depends on the head's width, and for halves grows beyond 64. Wide heads
// of halves have accumulators for dk and dv too.
func efficientWorkspace(q, k *Tensor) uint64 {
	rows, cols := 64, (q.Size(3)+63)/64*64
	switch {
	case q.Size(3) > 128:
		rows, cols = 128, 64
	case q.Size(3) > 64 && q.dtype.Half():
		rows = 128
	}
	tiles := q.Size(0) * q.Size(1) * ceilDiv(q.Size(2), rows) * ceilDiv(q.Size(3), cols)
	bytes := tiles * (16 + rows*cols*4)
	if q.Size(3) > 128 && q.dtype.Half() {
		bytes += 2 * q.Size(0) * q.Size(1) * (ceilDiv(k.Size(2), 64) * 64) * (ceilDiv(q.Size(3), rows) * rows) * 4
	}
	return uint64(bytes)
}

// denseLayout is t's own strides where it is dense, else row-major: how cuDNN's
// wrapper lays out what belongs to t.
func (t *Tensor) denseLayout() Shape {
	if isDense(t.size, t.stride) {
		return t.stride
	}
	return sortedLayout(t.size, []*Tensor{t})
}

// bshd is the strides of [B, H, S, D] stored as [B, S, H, D].
func bshd(s Shape) Shape {
	b, h, n, d := s.d[0], s.d[1], s.d[2], s.d[3]
	_ = b
	return Dims(n*h*d, d, h*d, 1)
}

// attentionCost counts the matrix products of an attention kernel.
func (w *World) attentionCost(q, k *Tensor, products float64) {
	w.work(Attending, 2*products*float64(q.Numel())*float64(k.Size(2)), q, q, k, k)
}
