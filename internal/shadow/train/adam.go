// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// torch.optim.Adam and AdamW (torch/optim/adam.py, 2.11). Both moments have the
// parameter's type and are allocated in the first step, for every parameter
// before the first is updated. The step counters are on the CPU, except with the fused kernels.

// moments is the part that the three variants of Adam share.
type moments struct {
	w      *shadow.World
	params []*shadow.Tensor
	state  map[*shadow.Tensor][2]*shadow.Tensor
}

func newMoments(w *shadow.World, params []*shadow.Tensor) moments {
	return moments{w: w, params: params, state: map[*shadow.Tensor][2]*shadow.Tensor{}}
}

// init allocates the states of parameters that have their first gradient.
func (m *moments) init(before func(p *shadow.Tensor)) []*shadow.Tensor {
	live := withGrad(m.params)
	m.make(live, before)
	return live
}

// make allocates the states of parameters that have none.
func (m *moments) make(of []*shadow.Tensor, before func(p *shadow.Tensor)) {
	for _, p := range of {
		if _, ok := m.state[p]; ok {
			continue
		}
		if before != nil {
			before(p)
		}
		m.state[p] = [2]*shadow.Tensor{zerosLike(p, p.DType()), zerosLike(p, p.DType())}
	}
}

// Restore allocates the states before the first step, as load_state_dict does.
func (m *moments) Restore() { m.make(m.params, nil) }

// adam is the default variant: foreach.
type adam struct {
	moments
	decay
}

func newAdam(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &adam{moments: newMoments(w, params)}
}

// Step works on all parameters of a type at once. It allocates only the square roots of all second
// moments.
func (a *adam) Step() {
	foreachEach(a.init(nil), &a.decay, func(group []*shadow.Tensor) []*shadow.Tensor {
		a.begin(a.w, group)
		a.end()
		return foreach(a.w, "_foreach_sqrt", group)
	})
}

// adamFused updates everything in a single kernel. Its step counters are on the GPU.
type adamFused struct {
	moments
	steps []*shadow.Tensor
}

func newAdamFused(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &adamFused{moments: newMoments(w, params)}
}

// Step allocates only the states.
func (a *adamFused) Step() {
	a.init(a.counter)
}

// Restore is moments.Restore with the counters.
func (a *adamFused) Restore() { a.make(a.params, a.counter) }

func (a *adamFused) counter(p *shadow.Tensor) { a.steps = append(a.steps, zeros(p, shadow.Dims())) }

// scalesItself marks an optimizer that applies the loss scale itself, so that gradients need not be divided
// first.
func (a *adamFused) scalesItself() {}

// adamLoop is foreach=False: it updates one parameter after the other.
type adamLoop struct{ moments }

func newAdamLoop(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &adamLoop{newMoments(w, params)}
}

// Step allocates sqrt(second moment) / number for each parameter. The quotient is bound to a variable, so it lives
// until the next one exists.
func (a *adamLoop) Step() {
	defer a.w.NoGrad()()
	var denom *shadow.Tensor
	for _, p := range a.init(nil) {
		next := a.state[p][1].Pointwise("sqrt", p.DType()).DivScalar().Hold()
		denom.Drop()
		denom = next
	}
	denom.Drop()
}

// States returns the moments of each parameter, nil before its first update.
func (m *moments) States() [][]*shadow.Tensor {
	out := make([][]*shadow.Tensor, len(m.params))
	for i, p := range m.params {
		if s, ok := m.state[p]; ok {
			out[i] = s[:]
		}
	}
	return out
}

// Replace replaces the moments with loaded ones, or sets them before the first step would allocate them.
func (m *moments) Replace(states [][]*shadow.Tensor) {
	for i, p := range m.params {
		if i < len(states) && len(states[i]) >= 2 {
			s := m.state[p]
			slots{&s[0], &s[1]}.write(states[i])
			m.state[p] = s
		}
	}
}
