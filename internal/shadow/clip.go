// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// ClipGradNorm is torch.nn.utils.clip_grad_norm_: the norm of all gradients,
// and the gradients scaled in place.
func (w *World) ClipGradNorm(params []*Tensor) {
	defer w.NoGrad()()
	var grads []*Tensor
	for _, p := range withGrad(params) {
		grads = append(grads, p.grad)
	}
	if len(grads) == 0 {
		return
	}
	fn := w.Func()
	total := fn.Let(w.totalNorm(grads))
	inner := w.Func(total)
	coef := inner.Let(total.AddScalar().reciprocalMul())
	inner.Let(coef.unary("clamp", coef.dtype))
	inner.Return(nil)
	fn.Return(nil)
}

// totalNorm is the norm of the tensors' norms.
func (w *World) totalNorm(grads []*Tensor) *Tensor {
	var norms []*Tensor
	for _, group := range byType(grads) {
		norms = append(norms, w.foreachNorm(group)...)
	}
	parts := make([]*Tensor, len(norms))
	for i, n := range norms {
		parts[i] = n.Unsqueeze(0)
	}
	stacked := Cat(0, parts...)
	total := stacked.reduce("linalg_vector_norm", []int{0}, false, stacked.dtype)
	stacked.die()
	dropList(norms)
	return total
}

// foreachNorm is _foreach_norm: float32 partial sums for all tensors, then the
// norms themselves.
func (w *World) foreachNorm(ts []*Tensor) []*Tensor {
	w.op("_foreach_norm")
	most := 0
	for _, t := range ts {
		most = max(most, t.Numel())
	}
	partial := w.empty(Dims(kernel.ForeachNorm(len(ts), most)), Float32).hold()
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		out[i] = w.empty(Dims(), t.dtype).hold()
	}
	partial.drop()
	return out
}

// reciprocalMul is number / t.
func (t *Tensor) reciprocalMul() *Tensor {
	t.hold()
	r := t.unary("reciprocal", t.dtype)
	out := r.unary("mul", t.dtype)
	r.die()
	t.drop()
	return out
}
