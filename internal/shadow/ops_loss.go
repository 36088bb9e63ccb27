// SPDX-License-Identifier: Apache-2.0

package shadow

// KLDiv is F.kl_div(t, target) with a reduction by PyTorch's name: target·log target - target·t, then its sum
// or its mean. Under autocast both are cast to float32.
func (t *Tensor) KLDiv(target *Tensor, reduction string) *Tensor {
	defer t.w.As(Logits)()
	w := t.w
	mark := w.pin(t, target)
	in, of := w.toFloat32(t), w.toFloat32(target)
	w.pin(in, of)
	out := of.Pointwise("xlogy", of.dtype).Sub(of.Mul(in))
	w.pin(out)
	switch reduction {
	case "sum", "batchmean":
		out = out.SumAll()
	case "none":
	default:
		out = out.Mean(false, allDims(out.size)...)
	}
	out.Hold()
	w.unpin(mark)
	out.loosen()
	if reduction == "batchmean" {
		return out.DivScalar()
	}
	return out
}
