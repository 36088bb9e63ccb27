// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
)

// ClipGradNorm is torch.nn.utils.clip_grad_norm_: it computes the norm of all gradients, and scales the gradients
// in place.
func ClipGradNorm(w *shadow.World, params []*shadow.Tensor) {
	ClippedNorm(w, params, false).Drop()
}

// ClippedNorm is ClipGradNorm, but also returns the norm, or nil if there are no gradients. checked is
// error_if_nonfinite.
func ClippedNorm(w *shadow.World, params []*shadow.Tensor, checked bool) *shadow.Tensor {
	defer w.NoGrad()()
	var grads []*shadow.Tensor
	for _, p := range withGrad(params) {
		grads = append(grads, p.Grad())
	}
	if len(grads) == 0 {
		return nil
	}
	total := totalNorm(w, grads, checked).Hold()
	inner := w.Func(total)
	coef := inner.Let(overNumber(total.AddScalar()))
	inner.Let(coef.Pointwise("clamp", coef.DType()))
	inner.Return(nil)
	return total
}

// totalNorm returns the norm of the tensors' norms.
func totalNorm(w *shadow.World, grads []*shadow.Tensor, checked bool) *shadow.Tensor {
	var norms []*shadow.Tensor
	for _, group := range byType(grads) {
		norms = append(norms, foreachNorm(w, group)...)
	}
	parts := make([]*shadow.Tensor, len(norms))
	for i, n := range norms {
		parts[i] = n.Unsqueeze(0)
	}
	stacked := shadow.Cat(0, parts...)
	total := stacked.Norm(0)
	stacked.Drop()
	if checked {
		checkFinite(total)
	}
	dropList(norms)
	return total
}

// checkFinite is torch.logical_or(t.isnan(), t.isinf()).
func checkFinite(t *shadow.Tensor) {
	nan := t.Pointwise("isnan", shadow.Bool).Hold()
	abs := t.Pointwise("abs", t.DType()).Hold()
	inf := abs.Pointwise("isinf", shadow.Bool).Hold()
	abs.Drop()
	either := nan.Pointwise("logical_or", shadow.Bool).Hold()
	nan.Drop()
	inf.Drop()
	either.Drop()
}

// foreachNorm is _foreach_norm: it allocates float32 partial sums for all tensors, then the norms.
func foreachNorm(w *shadow.World, ts []*shadow.Tensor) []*shadow.Tensor {
	w.Op("_foreach_norm")
	most := 0
	for _, t := range ts {
		most = max(most, t.Numel())
	}
	partial := w.Empty(shadow.Dims(kernel.ForeachNorm(len(ts), most)), shadow.Float32).Hold()
	out := make([]*shadow.Tensor, len(ts))
	for i, t := range ts {
		out[i] = w.Empty(shadow.Dims(), t.DType()).Hold()
	}
	partial.Drop()
	return out
}

// overNumber is number / t.
func overNumber(t *shadow.Tensor) *shadow.Tensor {
	t.Hold()
	r := t.Pointwise("reciprocal", t.DType())
	out := r.Pointwise("mul", t.DType())
	r.Drop()
	t.Drop()
	return out
}
