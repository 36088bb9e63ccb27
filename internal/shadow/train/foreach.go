// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// Foreach describes a torch.optim optimizer in its foreach form (2.11), with the arguments that affect its
// allocations. Only scripts use it; a setup refers to optimizers by name.
type Foreach struct {
	States   int  // number of states per parameter, each with its shape and type
	Scalars  int  // number of scalars on the card, allocated before the states
	Decays   bool // weight decay is added to a copy of the gradients
	Clones   bool // states are copies of the first gradients, made in the update
	Roots    bool // the update takes the square roots of a state
	Averages bool // ASGD's update: two lists in succession, then new values of two scalars
}

// NewForeach makes an optimizer over groups of parameters, each with its own description.
func NewForeach(w *shadow.World, of []Foreach, params [][]*shadow.Tensor) Optimizer {
	all := make(groups, len(params))
	for i, group := range params {
		all[i] = &foreachOptimizer{w: w, how: of[i], params: group, state: map[*shadow.Tensor][]*shadow.Tensor{}}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

type foreachOptimizer struct {
	w       *shadow.World
	how     Foreach
	params  []*shadow.Tensor
	state   map[*shadow.Tensor][]*shadow.Tensor
	scalars []*shadow.Tensor
}

// Step allocates the states of new parameters and updates one type after the other. The variable for the decayed
// gradients is rebound at the start of a group. The variable for the square roots is rebound when the next group's
// square roots exist.
func (f *foreachOptimizer) Step() {
	live := withGrad(f.params)
	if !f.how.Clones {
		for _, p := range live {
			f.make(p)
		}
	}
	var sums, roots []*shadow.Tensor
	for _, group := range byType(live) {
		dropList(sums)
		sums = nil
		if f.how.Decays {
			sums = foreach(f.w, "_foreach_add", group)
		}
		if f.how.Clones {
			f.clones(group)
		}
		if f.how.Roots {
			next := foreach(f.w, "_foreach_sqrt", group)
			dropList(roots)
			roots = next
		}
		if f.how.Averages {
			f.averages(group)
		}
	}
	dropList(sums)
	dropList(roots)
}

func (f *foreachOptimizer) make(p *shadow.Tensor) {
	if f.state[p] != nil || f.how.States == 0 {
		return
	}
	for range f.how.Scalars {
		f.scalars = append(f.scalars, zeros(p, shadow.Dims()))
	}
	for range f.how.States {
		f.state[p] = append(f.state[p], zerosLike(p, p.DType()))
	}
}

func (f *foreachOptimizer) clones(group []*shadow.Tensor) {
	for _, p := range group {
		if f.state[p] == nil && f.how.States > 0 {
			f.state[p] = []*shadow.Tensor{stateLike(p, "clone", p.Grad(), p.Grad().DType())}
		}
	}
}

// averages runs ASGD's update, which deletes its lists itself.
func (f *foreachOptimizer) averages(group []*shadow.Tensor) {
	if !f.how.Decays {
		dropList(foreach(f.w, "_foreach_add", group))
	}
	dropList(foreach(f.w, "_foreach_sub", group))
	var fresh []*shadow.Tensor
	for range 2 * len(group) {
		f.w.Op("as_tensor")
		fresh = append(fresh, f.w.Empty(shadow.Dims(), shadow.Float32).Hold())
	}
	dropList(fresh)
}

// States returns the states of each parameter, nil if it has none.
func (f *foreachOptimizer) States() [][]*shadow.Tensor { return statesIn(f.params, f.state) }

// Replace replaces the states with loaded ones.
func (f *foreachOptimizer) Replace(states [][]*shadow.Tensor) { replaceIn(f.params, f.state, states) }

// Restore allocates the states before the first step, as load_state_dict does. It also allocates momentum, which
// is otherwise a copy of the first gradients.
func (f *foreachOptimizer) Restore() {
	for _, p := range f.params {
		f.make(p)
	}
}
