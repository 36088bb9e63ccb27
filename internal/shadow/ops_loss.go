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
	entropy := of.Pointwise("xlogy", of.dtype)
	w.pin(entropy)
	product := of.Mul(in)
	w.pin(product)
	out := entropy.Sub(product)
	w.pin(out)
	switch reduction {
	case "batchmean":
		out = out.SumAll().DivScalar()
	case "sum":
		out = out.SumAll()
	case "none":
	default:
		out = out.Mean(false, allDims(out.size)...)
	}
	out.Hold()
	w.unpin(mark)
	return out.loosen()
}
