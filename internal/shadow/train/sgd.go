// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// torch.optim.SGD in its foreach form (torch/optim, 2.11), with its default arguments.

type sgd struct {
	decay
	w      *shadow.World
	params []*shadow.Tensor
}

func newSGD(w *shadow.World, params []*shadow.Tensor) Optimizer { return &sgd{w: w, params: params} }

// Step updates the parameters in place. Only weight decay allocates memory.
func (s *sgd) Step() {
	for _, group := range byType(withGrad(s.params)) {
		s.begin(s.w, group)
	}
	s.end()
}

// States returns nothing: SGD without momentum keeps no states.
func (s *sgd) States() [][]*shadow.Tensor { return make([][]*shadow.Tensor, len(s.params)) }

// Replace has nothing to replace.
func (s *sgd) Replace([][]*shadow.Tensor) {}

type sgdMomentum struct {
	decay
	w      *shadow.World
	params []*shadow.Tensor
	buffer map[*shadow.Tensor]*shadow.Tensor
}

func newSGDMomentum(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &sgdMomentum{w: w, params: params, buffer: map[*shadow.Tensor]*shadow.Tensor{}}
}

// Step makes each momentum buffer a copy of the first gradient, one type after the other.
func (s *sgdMomentum) Step() {
	for _, group := range byType(withGrad(s.params)) {
		s.begin(s.w, group)
		for _, p := range group {
			if s.buffer[p] == nil {
				g := p.Grad()
				s.buffer[p] = stateLike(p, "clone", g, g.DType())
			}
		}
	}
	s.end()
}

// Restore allocates the momentum buffers before the first step, as load_state_dict does.
func (s *sgdMomentum) Restore() {
	for _, p := range s.params {
		if s.buffer[p] == nil {
			s.buffer[p] = stateLike(p, "_to_copy", p, p.DType())
		}
	}
}

// States returns each parameter's momentum buffer, or none if it has not been updated yet.
func (s *sgdMomentum) States() [][]*shadow.Tensor { return statesOf(s.params, s.buffer) }

// Replace replaces the momentum buffers.
func (s *sgdMomentum) Replace(states [][]*shadow.Tensor) { replaceOf(s.params, s.buffer, states) }
