// SPDX-License-Identifier: Apache-2.0

package shadow

// MSELoss is F.mse_loss of tensors of one shape. Its mean or sum is written into the tensor of all
// differences, and keeps that tensor's memory.
func (t *Tensor) MSELoss(target *Tensor, reduction string) *Tensor {
	defer t.w.As(Logits)()
	w := t.w
	mark := w.pin(t, target)
	in, of := w.toFloat32(t), w.toFloat32(target)
	w.pin(in, of)
	n := w.record("MseLossBackward0", in, of)
	x, y := n.save(in), n.save(of)
	w.Op("mse_loss")
	out := w.Empty(in.size, in.dtype).Hold()
	if reduction != "none" {
		all := w.Empty(in.size, in.dtype).Hold()
		w.reduceScratch(reductionOf("mean", in.dtype), all, in.dtype, allDims(in.size), in.dtype)
		all.Drop()
		out = Replace(out, out.alias(Dims(), Dims()))
	}
	w.Launch(out, in, of)
	n.backward(func(g *Tensor) []*Tensor {
		grads := make([]*Tensor, 2)
		for i, s := range []*saved{x, y} {
			if n.needsGrad(i) {
				w.Op("mse_loss_backward")
				grads[i] = s.get().EmptyLike(s.get().dtype)
			}
		}
		return grads
	})
	n.output(out, 0)
	w.unpin(mark)
	return out.loosen()
}
