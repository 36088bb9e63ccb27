// SPDX-License-Identifier: Apache-2.0

package shadow

// Optimizers (torch/optim, 2.11): their states, which come into being at the
// first step, and what a step needs for a moment.

// Optimizer updates parameters from their gradients.
type Optimizer interface {
	Step()
}

// adam is torch.optim.AdamW in its default form: foreach.
type adam struct {
	w      *World
	params []*Tensor
	state  map[*Tensor][2]*Tensor
}

// AdamW makes torch.optim.AdamW(params).
func (w *World) AdamW(params []*Tensor) Optimizer {
	return &adam{w: w, params: params, state: map[*Tensor][2]*Tensor{}}
}

// Step makes both moments of each parameter that has a gradient for the first
// time, then works on all parameters of a type at once: the one thing that it
// allocates is the square roots of all second moments.
func (a *adam) Step() {
	live := withGrad(a.params)
	for _, p := range live {
		if _, ok := a.state[p]; !ok {
			a.state[p] = [2]*Tensor{a.w.optimizerState(p), a.w.optimizerState(p)}
		}
	}
	for _, group := range byType(live) {
		roots := a.w.foreach("_foreach_sqrt", group)
		dropList(roots)
	}
}

// optimizerState is zeros_like(p), kept.
func (w *World) optimizerState(p *Tensor) *Tensor {
	was, path := w.component, w.path
	w.component, w.path = OptimizerState, append(w.path, p.name)
	w.op("zeros_like")
	s := p.emptyLike(p.dtype).hold()
	w.component, w.path = was, path
	return s
}

// foreach allocates one result per tensor.
func (w *World) foreach(op string, ts []*Tensor) []*Tensor {
	w.op(op)
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.emptyLike(t.dtype).hold()
	}
	return out
}

// dropList ends a Python list: it lets go of its items from the last to the
// first.
func dropList(ts []*Tensor) {
	for i := len(ts) - 1; i >= 0; i-- {
		ts[i].drop()
	}
}

// withGrad is the parameters that have a gradient.
func withGrad(params []*Tensor) []*Tensor {
	out := make([]*Tensor, 0, len(params))
	for _, p := range params {
		if p.grad != nil {
			out = append(out, p)
		}
	}
	return out
}

// byType groups parameters by element type, in order of first appearance.
func byType(params []*Tensor) [][]*Tensor {
	var order []DType
	groups := map[DType][]*Tensor{}
	for _, p := range params {
		if groups[p.dtype] == nil {
			order = append(order, p.dtype)
		}
		groups[p.dtype] = append(groups[p.dtype], p)
	}
	out := make([][]*Tensor, len(order))
	for i, d := range order {
		out[i] = groups[d]
	}
	return out
}

// ZeroGrad is optimizer.zero_grad(): gradients are dropped, not filled.
func ZeroGrad(params []*Tensor) {
	for _, p := range params {
		if p.grad != nil {
			g := p.grad
			p.grad = nil
			g.drop()
		}
	}
}
