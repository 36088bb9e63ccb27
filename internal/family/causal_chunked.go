// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// chunkedLoss computes the loss over chunks of the sequence, each checkpointed, so that only one chunk's
// logits exist at a time:
//
//	loss = sum(checkpoint(piece_loss, h, y) for h, y in zip(hidden.chunk(n, 1), labels.chunk(n, 1))) / n
//
// transformers does not do this, but scripts do if logits take too much memory.
func (h *causalHead) chunkedLoss(hidden *shadow.Tensor, b Batch) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	labels := fn.Let(b.Labels.Pad(0, 1))
	fn.Set(&labels, labels.Slice(-1, 1, labels.Size(-1)).Contiguous()) // (B, S)
	n := min(h.chunks, hidden.Size(1))
	var sum *shadow.Tensor
	for i := range n {
		from, to := i*hidden.Size(1)/n, (i+1)*hidden.Size(1)/n
		x := fn.Let(hidden.Slice(1, from, to)) // (B, S/n, H)
		y := fn.Let(labels.Slice(1, from, to)) // (B, S/n)
		part := w.Checkpoint(false, x, func(x *shadow.Tensor) *shadow.Tensor { return h.pieceLoss(x, y) }, y)
		if sum == nil {
			sum = fn.Let(part)
		} else {
			fn.Set(&sum, sum.Add(part))
		}
	}
	return fn.Return(sum.DivScalar())
}

// pieceLoss returns the loss of one piece.
func (h *causalHead) pieceLoss(x, y *shadow.Tensor) *shadow.Tensor {
	defer x.World().As(shadow.Logits)()
	fn := x.World().Func(x, y)
	logits := fn.Let(h.lm.Call(x.Alias())) // (B, S/n, V)
	h.capped(fn, &logits)
	fn.Set(&logits, logits.Float())
	return fn.Return(logits.View(-1, h.vocab).CrossEntropy(y.Reshape(-1)))
}
