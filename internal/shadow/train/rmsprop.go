// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
)

// torch.optim.RMSprop in its foreach form (torch/optim, 2.11), with its default arguments.

type rmsprop struct {
	decay
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
	foreachEach(live, &r.decay, func(group []*shadow.Tensor) []*shadow.Tensor {
		r.begin(r.w, group)
		return foreach(r.w, "_foreach_sqrt", group)
	})
}

// States returns each parameter's average of squares, or none if it has not been updated yet.
func (r *rmsprop) States() [][]*shadow.Tensor { return statesOf(r.params, r.square) }

// Replace replaces the averages.
func (r *rmsprop) Replace(states [][]*shadow.Tensor) { replaceOf(r.params, r.square, states) }
