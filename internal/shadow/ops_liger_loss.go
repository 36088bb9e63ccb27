// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"math/bits"

	"snug/internal/kernel"
)

// Liger's fused linear cross-entropy (liger_kernel/ops/fused_linear_cross_entropy.py, 0.8.5), in the Triton
// version, which models use on every card.
//
// The last hidden states go through lm_head a few rows at a time. The loss kernel overwrites a piece's logits
// with their gradient, from which forward immediately computes the gradients of the hidden states and the weight.
// The number of rows is chosen so that a piece's logits have about as many elements as all hidden states. Unless
// a cast prevents it, all pieces use one buffer.

// LigerCrossEntropy is LigerFusedLinearCrossEntropyFunction: the loss of hidden states (N, H), multiplied by a
// weight (V, H), against targets (N,).
func (t *Tensor) LigerCrossEntropy(weight, target *Tensor) *Tensor {
	w := t.w
	n := w.record("LigerFusedLinearCrossEntropyFunctionBackward", t, weight)
	defer w.NoGrad()()
	fn := w.Func(t, target)
	p := &ligerPieces{w: w, weight: weight, trained: t.requiresGrad}
	loss := fn.Let(p.forward(t, target))
	fn.Let(p.gi)
	fn.Let(p.gw)
	dx, dw := n.saveDetached(p.gi), n.saveDetached(p.gw)
	n.backward(func(g *Tensor) []*Tensor {
		w.equalsOne(g)
		return inputGrads(dx.get(), dw.get())
	})
	return n.result(fn.Return(loss), t, target)
}

// equalsOne is torch.equal(g, torch.tensor(1.0)), which checks whether the loss was the last op. The result is copied
// to the host.
func (w *World) equalsOne(g *Tensor) {
	w.Op("equal")
	one := w.alloc(Float32.Bytes())
	same := w.alloc(Bool.Bytes())
	w.Scratch(Bool.Bytes()) // the result of all()
	w.release(same)
	w.release(one)
	w.Launch(g)
	if w.Meter != nil {
		w.Meter.Sync()
	}
}

// saveDetached keeps t.detach(). Once t is gone the detached tensor is the only one with this memory, so a second
// gradient may be added to it in place.
func (n *node) saveDetached(t *Tensor) *saved {
	if n == nil || t == nil {
		return &saved{}
	}
	s := n.save(t)
	if s.t != nil {
		s.t.isView = false
	}
	return s
}

// ligerRows returns how many rows are processed at a time.
func ligerRows(rows, width, vocab int) int {
	share := kernel.CeilDiv(rows, kernel.CeilDiv(vocab, width))
	return min(1<<bits.Len(uint(share-1)), rows)
}

// ligerPieces is a call of fused_linear_cross_entropy_forward.
type ligerPieces struct {
	w       *World
	weight  *Tensor // (V, H)
	trained bool    // anything before the head is trained
	buffer  *Tensor // (C, V), for logits, if products may be written into it
	gi, gw  *Tensor // the gradients of the hidden states and of the weight
}

// forward returns the loss of all rows.
func (p *ligerPieces) forward(t, target *Tensor) *Tensor {
	w := p.w
	fn := w.Func(t, target)
	rows, size := t.Size(0), ligerRows(t.Size(0), t.Size(1), p.weight.Size(0))
	p.gi = fn.Let(t.Pointwise("zeros_like", t.dtype))
	if p.trained && p.weight.requiresGrad {
		p.gw = fn.Let(p.weight.Pointwise("zeros_like", p.weight.dtype))
	}
	losses := fn.Let(w.Full(Float32, rows))
	counted := fn.Let(target.Compare("ne"))
	sum := counted.Sum(false, 0)
	w.Op("item")
	Item(sum)
	if p.writesInto(t) {
		fn.Set(&p.buffer, w.Full(t.dtype, size, p.weight.Size(0)))
	}
	for from := 0; from < rows; from += size {
		p.piece(t.Slice(0, from, min(from+size, rows)))
	}
	fn.Del(&p.buffer)
	loss := fn.Let(losses.Sum(false, 0))
	out, _, _ := fn.Return3(loss, p.gi, p.gw)
	return out
}

// writesInto is _can_use_mm_out: products may be written into existing memory if
// autocast would not cast their factors.
func (p *ligerPieces) writesInto(t *Tensor) bool {
	cast := p.w.autocast
	return t.dtype == p.weight.dtype && (cast == None || cast == t.dtype)
}

// piece runs one iteration of the loop, on rows x (C, H): the logits, then their
// gradient in place, then the gradients of the hidden states and the weight.
func (p *ligerPieces) piece(x *Tensor) {
	w := p.w
	fn := w.Func(x)
	var logits *Tensor // (C, V)
	if p.buffer != nil {
		logits = fn.Let(p.buffer.Slice(0, 0, x.Size(0)))
		w.productInto(logits, x, p.weight.T())
	} else {
		logits = fn.Let(x.Mm(p.weight.T()))
	}
	w.Op("cross_entropy")
	w.Launch(logits, logits)
	switch {
	case !p.trained:
	case p.buffer != nil:
		w.productInto(x, logits, p.weight)
	default:
		dx := logits.Mm(p.weight)
		w.Op("copy_")
		w.Launch(dx, x)
		dropTemporaries(dx)
	}
	if p.gw != nil {
		p.addWeight(logits, x)
	}
	fn.Return(nil)
}

// addWeight adds a piece's weight gradient to the running sum: within the product if types and card allow it,
// otherwise through another tensor of the weight's size.
func (p *ligerPieces) addWeight(logits, x *Tensor) {
	w := p.w
	if w.Rules.AddsIntoProduct(logits.dtype.Kernel(), p.gw.dtype.Kernel()) {
		fn := w.Func(x)
		fn.Set(&x, x.To(logits.dtype))
		w.productInto(p.gw, logits.T(), x)
		fn.Return(nil)
		return
	}
	more := logits.T().Mm(x).Float()
	w.Op("add_")
	w.Launch(p.gw, more)
	dropTemporaries(more)
}

// productInto is torch.mm or addmm with out=, which allocates nothing.
func (w *World) productInto(out, a, b *Tensor) {
	w.Op("mm.out")
	w.cublas()
	w.product(out, a, b)
	dropTemporaries(a, b)
}
