// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"

	"snug/internal/shadow"
)

// torch.optim.SGD, RMSprop and Adagrad in their foreach forms (torch/optim,
// 2.11), with their default arguments.

type sgd struct{}

func newSGD(*shadow.World, []*shadow.Tensor) Optimizer { return sgd{} }

// Step adds the gradients in place.
func (sgd) Step() {}

type sgdMomentum struct {
	w      *shadow.World
	params []*shadow.Tensor
	buffer map[*shadow.Tensor]*shadow.Tensor
}

func newSGDMomentum(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &sgdMomentum{w: w, params: params, buffer: map[*shadow.Tensor]*shadow.Tensor{}}
}

// Step makes each momentum buffer as a copy of the first gradient, one type after the
// other.
func (s *sgdMomentum) Step() {
	for _, p := range slices.Concat(byType(withGrad(s.params))...) {
		if s.buffer[p] == nil {
			g := p.Grad()
			s.buffer[p] = stateLike(p, "clone", g, g.DType())
		}
	}
}

// States is each parameter's momentum buffer, none for one that was not updated yet.
func (s *sgdMomentum) States() [][]*shadow.Tensor {
	var out [][]*shadow.Tensor
	for _, p := range s.params {
		if b := s.buffer[p]; b != nil {
			out = append(out, []*shadow.Tensor{b})
		}
	}
	return out
}

// Replace takes other momentum buffers in the place of those that are there.
func (s *sgdMomentum) Replace(states [][]*shadow.Tensor) {
	for i, p := range s.params {
		if i >= len(states) || len(states[i]) < 1 {
			return
		}
		old := s.buffer[p]
		s.buffer[p] = states[i][0]
		old.Drop()
	}
}

type rmsprop struct {
	w      *shadow.World
	params []*shadow.Tensor
	square map[*shadow.Tensor]*shadow.Tensor
}

func newRMSprop(w *shadow.World, params []*shadow.Tensor) Optimizer {
	return &rmsprop{w: w, params: params, square: map[*shadow.Tensor]*shadow.Tensor{}}
}

// Step allocates the square roots of all averages.
func (r *rmsprop) Step() {
	live := withGrad(r.params)
	for _, p := range live {
		if r.square[p] == nil {
			r.square[p] = zerosLike(p, p.DType())
		}
	}
	foreachEach(live, func(group []*shadow.Tensor) []*shadow.Tensor {
		return foreach(r.w, "_foreach_sqrt", group)
	})
}

type adagrad struct {
	w      *shadow.World
	params []*shadow.Tensor
}

// newAdagrad makes the sums already: Adagrad does not wait for the first step.
func newAdagrad(w *shadow.World, params []*shadow.Tensor) Optimizer {
	for _, p := range params {
		zerosLike(p, p.DType())
	}
	return &adagrad{w: w, params: params}
}

// Counters is how many steps it counts before the first one, one for each parameter, in the host's memory.
func (a *adagrad) Counters() int { return len(a.params) }

// Step allocates the square roots of all sums and the scaled gradients.
func (a *adagrad) Step() {
	var std, numerator []*shadow.Tensor
	for _, group := range byType(withGrad(a.params)) {
		s := foreach(a.w, "_foreach_sqrt", group)
		dropList(std)
		n := foreach(a.w, "_foreach_mul", group)
		dropList(numerator)
		std, numerator = s, n
	}
	dropList(std)
	dropList(numerator)
}
