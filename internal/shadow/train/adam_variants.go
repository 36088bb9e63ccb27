// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Relatives of Adam in their foreach form, PyTorch's default on GPUs (torch/optim/adam.py with amsgrad, adamax.py,
// nadam.py, radam.py, 2.11), with their default arguments. The order of their allocations is recorded without a GPU
// (testdata/measured/optim_ops.py); no run on a GPU was measured.

// variant is a relative of Adam. Its states have the parameter's type and are allocated in the first step, as Adam's
// are.
type variant struct {
	decay
	w      *shadow.World
	params []*shadow.Tensor
	state  map[*shadow.Tensor][]*shadow.Tensor
	states int    // states of each parameter
	list   string // the op that makes the only list of temporaries
	kind   kind   // what becomes of the decayed gradients
}

// kind says what becomes of the sums of gradients and decayed weights.
type kind int

const (
	releases  kind = iota // the sums end before the list begins
	keeps                 // the sums end with the group
	overwrite             // the sums are the list
)

// variantOf returns the constructor of a variant.
func variantOf(states int, list string, k kind) func(*shadow.World, []*shadow.Tensor) Optimizer {
	return func(w *shadow.World, params []*shadow.Tensor) Optimizer {
		return &variant{w: w, params: params, state: map[*shadow.Tensor][]*shadow.Tensor{}, states: states, list: list, kind: k}
	}
}

// The variants. Amsgrad keeps the largest second moment, and takes its root. Adamax takes the gradients' absolute
// values, in the name that held the gradients. NAdam and RAdam take the root of the second moment.
var (
	newAmsgrad = variantOf(3, "_foreach_sqrt", releases)
	newAdamax  = variantOf(2, "_foreach_abs", overwrite)
	newNAdam   = variantOf(2, "_foreach_sqrt", keeps)
	newRAdam   = variantOf(2, "_foreach_sqrt", releases)
)

// Step makes missing states, and then one list for each type of parameters.
func (v *variant) Step() {
	live := withGrad(v.params)
	v.make(live)
	if v.kind == overwrite {
		for _, group := range byType(live) {
			dropList(foreach(v.w, v.list, group))
		}
		return
	}
	foreachEach(live, &v.decay, func(group []*shadow.Tensor) []*shadow.Tensor {
		v.begin(v.w, group)
		if v.kind == releases {
			v.end()
		}
		return foreach(v.w, v.list, group)
	})
}

// make allocates the states of parameters that have none.
func (v *variant) make(of []*shadow.Tensor) {
	for _, p := range of {
		for len(v.state[p]) < v.states {
			v.state[p] = append(v.state[p], zerosLike(p, p.DType()))
		}
	}
}

// Restore allocates the states before the first step, as load_state_dict does for those of a file.
func (v *variant) Restore() { v.make(v.params) }
