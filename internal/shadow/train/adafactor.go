// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// transformers.optimization.Adafactor (5.17) with relative_step=False and
// scale_parameter=False: there is no first moment unless beta1 is given. Matrices keep a row and a column of
// second moments, vectors one per element, all in float32.

type adafactor struct {
	w      *shadow.World
	params []*shadow.Tensor
	state  map[*shadow.Tensor]*factors
	first  bool // beta1 is given
}

// factors is the state of one parameter.
type factors struct {
	row, col *shadow.Tensor // for a matrix
	all      *shadow.Tensor // for a vector
	rms      *shadow.Tensor
	first    *shadow.Tensor // first moment, if kept
}

// KeepFirstMoment makes an Adafactor keep a first moment, as beta1 does.
func KeepFirstMoment(o Optimizer) {
	if a, ok := o.(*adafactor); ok {
		a.first = true
	}
}

func newAdafactor(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &adafactor{w: w, params: params, state: map[*shadow.Tensor]*factors{}}
}

// Step updates the parameters one by one. The loop's variables keep the previous parameter's values until they
// are rebound.
func (a *adafactor) Step() {
	defer a.w.NoGrad()()
	fn := a.w.Func()
	var grad, weight, update *shadow.Tensor
	for _, p := range withGrad(a.params) {
		fn.Set(&grad, p.Grad()) // drops the previous float32 copy before the next one is made
		fn.Set(&grad, grad.To(shadow.Float32))
		s := a.state[p]
		if s == nil {
			s = a.init(p, grad)
			a.state[p] = s
		}
		fn.Set(&weight, p)
		fn.Set(&weight, weight.To(shadow.Float32))
		size := rms(weight).Hold()
		s.rms.Drop()
		s.rms = size
		fn.Set(&update, grad.Pointwise("pow", shadow.Float32).AddScalar())
		if s.all == nil {
			update.Mean(false, -1).Drop() // row.mul_(beta).add_(…)
			update.Mean(false, -2).Drop() // col.mul_(beta).add_(…)
			fn.Set(&update, approxSquare(s.row, s.col))
		} else {
			fn.Set(&update, s.all.Pointwise("rsqrt", shadow.Float32))
		}
		rms(update).DivScalar().Drop() // update.div_(….clamp_(min=1))
		if s.first != nil {
			fn.Set(&update, s.first.Detach())
		}
		update.Pointwise("neg", shadow.Float32).Drop()
	}
	fn.Return(nil)
}

func (a *adafactor) init(p, grad *shadow.Tensor) *factors {
	n, s := grad.Dim(), &factors{}
	if a.first {
		s.first = zerosLike(p, shadow.Float32)
	}
	if n < 2 {
		s.all = zerosLike(p, shadow.Float32)
		return s
	}
	row, col := grad.Shape().Remove(n-1), grad.Shape().Remove(n-2)
	s.row, s.col = zeros(p, row), zeros(p, col)
	return s
}

// rms is t.norm(2) / sqrt(n).
func rms(t *shadow.Tensor) *shadow.Tensor { return t.Norm().DivScalar() }

// approxSquare is _approx_sq_grad: the outer product of the row and column means of the squared gradient.
func approxSquare(row, col *shadow.Tensor) *shadow.Tensor {
	fn := row.World().Func(row, col)
	r := fn.Let(row.Div(row.Mean(true, -1)).Unsqueeze(-1))
	c := fn.Let(col.Unsqueeze(-2).Rsqrt())
	return fn.Return(r.Mul(c))
}

// States returns the states of each parameter, nil before its first update.
func (a *adafactor) States() [][]*shadow.Tensor {
	out := make([][]*shadow.Tensor, len(a.params))
	for i, p := range a.params {
		if s := a.state[p]; s != nil {
			out[i] = s.slots().read()
		}
	}
	return out
}

// Replace replaces the states with loaded ones.
func (a *adafactor) Replace(states [][]*shadow.Tensor) {
	for i, p := range a.params {
		if i >= len(states) || states[i] == nil {
			continue
		}
		if a.state[p] == nil {
			a.state[p] = &factors{}
		}
		s := a.state[p]
		s.slotsFor(p.Dim(), a.first).write(states[i])
	}
}

// slots lists a parameter's states in the order of their creation; rms is made last.
func (s *factors) slots() slots { return slots{&s.first, &s.row, &s.col, &s.all, &s.rms} }

// slotsFor lists the states of a parameter with dims dimensions.
func (s *factors) slotsFor(dims int, first bool) (out slots) {
	if first {
		out = append(out, &s.first)
	}
	if dims >= 2 {
		return append(out, &s.row, &s.col, &s.rms)
	}
	return append(out, &s.all, &s.rms)
}
