// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Variants of Adam in their foreach form, PyTorch's default on GPUs (torch/optim/adam.py with amsgrad, adamax.py,
// nadam.py, radam.py, 2.11), with their default arguments. The order of their allocations was recorded without a
// GPU (testdata/measured/optim_ops.py); no GPU run was measured.

// variant is a variant of Adam. Its states have the parameter's type and are allocated in the first step, as
// Adam's are.
type variant struct {
	decay
	w      *shadow.World
	params []*shadow.Tensor
	state  map[*shadow.Tensor][]*shadow.Tensor
	states int    // states per parameter
	list   string // the op that makes the only list of temporaries
	kind   kind   // lifetime of the decayed gradients
}

// kind is the lifetime of the sums of gradients and decayed weights.
type kind int

const (
	releases  kind = iota // the sums are released before the list is made
	keeps                 // the sums are released after the group's update
	overwrite             // the list replaces the sums
)

// variantOf returns the constructor of a variant.
func variantOf(states int, list string, k kind) func(*shadow.World, []*shadow.Tensor) Optimizer {
	return func(w *shadow.World, params []*shadow.Tensor) Optimizer {
		return &variant{w: w, params: params, state: map[*shadow.Tensor][]*shadow.Tensor{}, states: states, list: list, kind: k}
	}
}

// The variants. Amsgrad keeps the largest second moment, and takes its square root. Adamax binds the gradients' absolute
// values to the variable that held the gradients. NAdam and RAdam take the square root of the second moment.
var (
	newAmsgrad = variantOf(3, "_foreach_sqrt", releases)
	newAdamax  = variantOf(2, "_foreach_abs", overwrite)
	newNAdam   = variantOf(2, "_foreach_sqrt", keeps)
	newRAdam   = variantOf(2, "_foreach_sqrt", releases)
)

// Step allocates missing states, and then one list for each parameter type.
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

// Restore allocates the states before the first step, as load_state_dict does.
func (v *variant) Restore() { v.make(v.params) }

// States returns the states of each parameter, nil if it has none.
func (v *variant) States() [][]*shadow.Tensor { return statesIn(v.params, v.state) }

// Replace replaces the states with loaded ones.
func (v *variant) Replace(states [][]*shadow.Tensor) { replaceIn(v.params, v.state, states) }
