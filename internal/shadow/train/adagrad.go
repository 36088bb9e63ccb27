// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
)

// torch.optim.Adagrad in its foreach form (torch/optim, 2.11), with its default arguments.

type adagrad struct {
	decay
	w      *shadow.World
	params []*shadow.Tensor
	sums   map[*shadow.Tensor]*shadow.Tensor
}

// newAdagrad allocates the sums at once: Adagrad does not wait for the first step.
func newAdagrad(w *shadow.World, params []*shadow.Tensor) Optimizer {
	a := &adagrad{w: w, params: params, sums: map[*shadow.Tensor]*shadow.Tensor{}}
	for _, p := range params {
		a.sums[p] = zerosLike(p, p.DType())
	}
	return a
}

// Counters returns the number of step counters that exist before the first step, one for each parameter, on the host.
func (a *adagrad) Counters() int { return len(a.params) }

// Step allocates the square roots of all sums and the scaled gradients.
func (a *adagrad) Step() {
	var std, numerator []*shadow.Tensor
	for _, group := range byType(withGrad(a.params)) {
		var n []*shadow.Tensor
		if a.on { // gradients with weight decay are already copies, which are scaled in place
			n = foreach(a.w, "_foreach_add", group)
		}
		s := foreach(a.w, "_foreach_sqrt", group)
		dropList(std)
		if !a.on {
			n = foreach(a.w, "_foreach_mul", group)
		}
		dropList(numerator)
		std, numerator = s, n
	}
	dropList(std)
	dropList(numerator)
}

// States returns each parameter's sum of squares.
func (a *adagrad) States() [][]*shadow.Tensor { return statesOf(a.params, a.sums) }

// Replace replaces the sums.
func (a *adagrad) Replace(states [][]*shadow.Tensor) { replaceOf(a.params, a.sums, states) }
