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
		low[i] = w.lower(args[i])
		w.pin(low[i])
	}
	b := a
	b.Query, b.Key, b.Value, b.Mask = low[0], low[1], low[2], low[3]
	var out *Tensor
	switch w.Rules.attentionBackend(b) {
	case cudnnBackend:
		b.Mask = b.floatMask()
		w.pin(b.Mask)
		out = w.cudnnAttention(b)
	case efficientBackend:
		b.Mask = b.floatMask()
		w.pin(b.Mask)
		b.Mask = b.biasFor()
		w.pin(b.Mask)
		out = w.efficientAttention(b)
	case flashBackend:
		out = w.flashAttention(b)
	default:
		b.Mask = b.floatMask()
		w.pin(b.Mask)
		out = w.mathAttention(b)
	}
	w.unpin(mark)
	return out
}

// floatMask is convert_boolean_attn_mask: a mask of yes and no becomes one that
// is added, in the type of the queries.
func (a Attention) floatMask() *Tensor {
	if a.Mask == nil || a.Mask.dtype != Bool {
		return a.Mask
	}
	low := a.Query.w.Full(a.Query.dtype)
	return WhereBoth(a.Mask, a.Query.w.Full(a.Query.dtype), low)
}

// attentionBackend is sdp_utils.cpp: the first kernel in PyTorch's order of
// preference that takes these arguments.
func (r Rules) attentionBackend(a Attention) backend {
	half := a.Query.dtype.Half()
	maskGrad := a.Mask != nil && a.Mask.needs
	switch {
	case r.cudnnFirst() && half && !maskGrad && a.Query.Size(-1)%8 == 0 && a.Query.Size(-1) <= 256:
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
	lse := w.empty(q.size.with(3, 1), Float32)
	w.scratch(256)
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
	lse := w.empty(Dims(b, h, (s+31)/32*32), Float32)
	w.attentionCost(q, k, 2)
	slse := n.save(lse)
	sout := n.save(out)
	done(lse)
	n.backward(func(g *Tensor) []*Tensor {
		return w.efficientBackward(g, sq.get(), sk.get(), sv.get(), sout.get(), slse.get(), mask, n.needs(3))
	})
	return n.result(out)
}

func (w *World) efficientBackward(g, q, k, v, out, lse *Tensor, mask *saved, maskGrad bool) []*Tensor {
	w.op("_scaled_dot_product_efficient_attention_backward")
	dq := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	dk := w.emptyStrided(k.size, bshd(k.size), k.dtype)
	dv := w.emptyStrided(v.size, bshd(v.size), v.dtype)
	var dm *Tensor
	if maskGrad {
		dm = w.empty(mask.get().size, mask.get().dtype)
	}
	b, h, s, d := uint64(q.Size(0)), uint64(q.Size(1)), uint64(q.Size(2)), uint64(q.Size(3))
	if q.dtype == Float32 { // delta = (grad * out).sum(-1), put in order by head
		prod := w.alloc(q.Bytes())
		sum := w.alloc(b * h * s * 4)
		delta := w.alloc(b * h * s * 4)
		w.release(prod)
		w.release(sum)
		w.scratch(efficientWorkspace(b*h, s, d))
		w.release(delta)
	} else {
		delta := w.alloc(b * h * s * 4)
		w.scratch(efficientWorkspace(b*h, s, d))
		w.release(delta)
	}
	w.attentionCost(q, k, 5)
	return each(dq, dk, dv, dm)
}

// efficientWorkspace is the dq accumulator of the kernel: for each head and 64
// queries a lock of 16 bytes and a float32 tile as wide as the head, in steps
// of 64.
func efficientWorkspace(heads, s, d uint64) uint64 {
	return heads * ((s + 63) / 64) * (16 + 64*((d+63)/64*64)*4)
}

// FlashAttention is the flash-attn package's flash_attn_func, which PyTorch's
// own kernel comes from, on [B, H, S, D]. It takes no float32: transformers
// casts such queries, keys and values to autocast's type first.
func (w *World) FlashAttention(q, k, v *Tensor) *Tensor {
	fn := w.Func(q, k, v)
	if q.dtype == Float32 && w.autocast != None {
		fn.Set(&q, q.To(w.autocast))
		fn.Set(&k, k.To(w.autocast))
		fn.Set(&v, v.To(w.autocast))
	}
	return fn.Return(w.flashAttention(Attention{Query: q, Key: k, Value: v}))
}

func (w *World) flashAttention(a Attention) *Tensor {
	q, k, v := a.Query, a.Key, a.Value
	n := w.record("ScaledDotProductFlashAttentionBackward0", q, k, v)
	sk, sq, sv := n.save(k), n.save(q), n.save(v)
	w.op("_scaled_dot_product_flash_attention")
	out := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	lse := w.empty(Dims(q.Size(0), q.Size(1), q.Size(2)), Float32)
	rng := w.empty(Dims(2), Int64)
	unused := w.empty(Dims(), Int64)
	w.attentionCost(q, k, 2)
	n.save(lse)
	n.save(out)
	n.save(rng)
	n.save(unused)
	done(lse, rng, unused)
	n.backward(func(g *Tensor) []*Tensor { return w.flashBackward(sq.get(), sk.get(), sv.get()) })
	return n.result(out)
}

// flashBackward needs one number per query and head, dq in float32, and with
// grouped heads dk and dv for every query head, which are then summed.
func (w *World) flashBackward(q, k, v *Tensor) []*Tensor {
	w.op("_scaled_dot_product_flash_attention_backward")
	dq := w.emptyStrided(q.size, bshd(q.size), q.dtype)
	dk := w.emptyStrided(k.size, bshd(k.size), k.dtype)
	dv := w.emptyStrided(v.size, bshd(v.size), v.dtype)
	b, h, d := uint64(q.Size(0)), uint64(q.Size(1)), uint64(q.Size(3))
	rows := (uint64(q.Size(2)) + 127) / 128 * 128
	step := uint64(32)
	if d > 128 {
		step = 64
	}
	scratch := []*storage{w.alloc(b * h * rows * 4), w.alloc(b * h * rows * ((d + step - 1) / step * step) * 4)}
	if k.Size(1) != q.Size(1) {
		wide := b * h * uint64(k.Size(2)) * d * k.dtype.Bytes()
		scratch = append(scratch, w.alloc(wide), w.alloc(wide))
	}
	for _, m := range scratch {
		w.release2(m)
	}
	w.attentionCost(q, k, 5)
	return each(dq, dk, dv)
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
	if w.Cost == nil {
		return
	}
	w.Cost(Kernel{
		Op:    "attention",
		Flops: 2 * products * float64(q.Numel()) * float64(k.Size(2)),
		Bytes: float64(q.Bytes()*2 + k.Bytes()*2),
		DType: q.dtype,
	})
}
