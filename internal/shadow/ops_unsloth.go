// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Unsloth's kernels as fms-acceleration ships them (fms_acceleration_foak/kernels/unsloth, 0.6): the allocations of
// their autograd functions around Triton kernels, which allocate nothing themselves. The backward passes overwrite the
// incoming gradients.

// UnslothRMSNorm is Fast_RMS_Layernorm. It saves the input and one number per row. The weight gets no gradient, even
// if it is trainable.
func (t *Tensor) UnslothRMSNorm(weight *Tensor) *Tensor {
	w := t.w
	n := w.record("Fast_RMS_LayernormBackward", t, weight)
	defer w.NoGrad()()
	fn := w.Func(t, weight)
	w.Op("empty")
	out := fn.Let(w.Empty(t.size, t.dtype))
	scale := fn.Let(w.Full(Float32, t.Numel()/t.Size(-1)))
	w.Op("rms_layernorm_forward")
	w.Launch(out, t)
	input := n.save(t)
	n.save(weight)
	n.save(scale)
	n.backward(func(g *Tensor) []*Tensor {
		w.Launch(g, g, input.get())
		return inputGrads(g.alias(g.size, g.stride), nil)
	})
	return n.result(fn.Return(out), t)
}

// UnslothRope is Fast_RoPE_Embedding on a tensor (B, H, S, D) that is stored as (B, S, H, D). It rotates the tensor and
// its gradient in place.
func (t *Tensor) UnslothRope(cos, sin *Tensor) *Tensor {
	w := t.w
	fn := w.Func(t)
	x := fn.Let(t.Transpose(1, 2))
	n := w.record("Fast_RoPE_EmbeddingBackward", x)
	n.hold(cos)
	n.hold(sin)
	out := fn.Let(x.rotatedInPlace())
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.rotatedInPlace()) })
	return fn.Return(n.result(out, x).Transpose(1, 2))
}

// rotatedInPlace rotates the rows of t in place, or of a copy if t is not contiguous.
func (t *Tensor) rotatedInPlace() *Tensor {
	w := t.w
	defer w.NoGrad()()
	fn := w.Func(t)
	x := fn.Let(t.Contiguous())
	w.Op("rope_embedding")
	w.Launch(x, x)
	return fn.Return(x.alias(x.size, x.stride))
}

// unslothLossWidth is the largest vocabulary that one block of the loss kernel handles (MAX_FUSED_SIZE).
const unslothLossWidth = 1 << 16

// UnslothCrossEntropy is Fast_CrossEntropyLoss followed by the mean of its losses. The logits (N, V) are kept and
// overwritten with their gradient.
func (t *Tensor) UnslothCrossEntropy(target *Tensor) *Tensor {
	w := t.w
	fn := w.Func(t, target)
	losses := fn.Let(t.unslothLosses(target))
	w.Op("count_nonzero")
	w.Scratch(uint64(target.Numel()) * Bool.Bytes())
	items := fn.Let(w.Full(Int64))
	return fn.Return(losses.Sum(false, 0).Div(items))
}

func (t *Tensor) unslothLosses(target *Tensor) *Tensor {
	w := t.w
	n := w.record("Fast_CrossEntropyLossBackward", t)
	defer w.NoGrad()()
	fn := w.Func(t, target)
	rows, chunks := t.Size(0), kernel.CeilDiv(t.Size(1), unslothLossWidth)
	losses := fn.Let(w.Full(Float32, rows))
	sums := fn.Let(w.Full(Float32, rows))
	w.Op("cross_entropy_forward")
	w.Launch(t, t)
	if chunks > 1 {
		fn.Set(&sums, w.Full(Float32, rows, chunks))
		fn.Set(&sums, sums.LogSumExpOver(false, 1))
		w.Scratch(uint64(rows) * Bool.Bytes()) // labels == -100
	}
	logits := n.save(t)
	n.save(sums)
	n.save(target)
	n.backward(func(*Tensor) []*Tensor {
		grad := logits.get()
		w.Launch(grad, grad)
		return inputGrads(grad.alias(grad.size, grad.stride))
	})
	return n.result(fn.Return(losses), t)
}
