// SPDX-License-Identifier: Apache-2.0

// Package train has the parts of a training loop around the model: optimizers, the gradient scaler,
// clipping, and the wrappers that spread a run over several GPUs (DDP, FSDP2, DeepSpeed's ZeRO). Each
// allocates what the library named in its file allocates. Package simulate runs the loop itself.
package train

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"snug/internal/shadow"
)

// Optimizers (torch/optim, 2.11): their states, which are made at the first step, and the temporary
// memory of a step.

// Optimizer updates parameters from their gradients.
type Optimizer interface {
	Step() // one update of all parameters
}

// optimizers is every optimizer by the name that a setup gives it.
var optimizers = map[string]func(w *shadow.World, params []*shadow.Tensor) Optimizer{
	"adamw":        newAdam, // foreach, as PyTorch chooses on its own
	"adamw-fused":  newAdamFused,
	"adamw-loop":   newAdamLoop,
	"adam":         newAdam, // without weight decay the two differ in no allocation
	"adam-fused":   newAdamFused,
	"adam-loop":    newAdamLoop,
	"sgd":          newSGD,
	"sgd-momentum": newSGDMomentum,
	"adafactor":    newAdafactor,
	"rmsprop":      newRMSprop,
	"adagrad":      newAdagrad,
	"lion":         newLion,
	"adamw-8bit":   newAdam8bit,
	"lion-8bit":    newLion8bit,
}

// OptimizerNames lists the names that NewOptimizer accepts, in order.
func OptimizerNames() []string {
	names := make([]string, 0, len(optimizers))
	for name := range optimizers {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// NewOptimizer makes an optimizer over the parameters that are trained, in one
// group or several. An empty name is AdamW.
func NewOptimizer(w *shadow.World, name string, params ...[]*shadow.Tensor) (Optimizer, error) {
	if name == "" {
		name = "adamw"
	}
	newOne := optimizers[name]
	if newOne == nil {
		return nil, fmt.Errorf("optimizer %q is not known; known: %s", name, strings.Join(OptimizerNames(), ", "))
	}
	if len(params) == 1 {
		return newOne(w, params[0]), nil
	}
	if name == "adafactor" { // its loop's names go on from group to group
		return newOne(w, slices.Concat(params...)), nil
	}
	all := make(groups, len(params))
	for i, group := range params {
		all[i] = newOne(w, group)
	}
	if _, ok := all[0].(interface{ scalesItself() }); ok {
		return scaledGroups{all}, nil
	}
	return all, nil
}

// groups is an optimizer over several groups of parameters: it goes through them
// one by one, and each makes its states when its turn comes.
type groups []Optimizer

// Step updates one group after the other.
func (g groups) Step() {
	for _, o := range g {
		o.Step()
	}
}

// Restore makes the states that an optimizer loads from a file, and reports whether it has some that are known.
func Restore(o Optimizer) bool {
	switch o := o.(type) {
	case groups:
		known := true
		for _, g := range o {
			known = Restore(g) && known
		}
		return known
	case scaledGroups:
		return Restore(o.groups)
	case interface{ Restore() }:
		o.Restore()
		return true
	case sgd:
		return true
	}
	return false
}

// Counters is those of all groups.
func (g groups) Counters() int {
	n := 0
	for _, o := range g {
		if c, ok := o.(interface{ Counters() int }); ok {
			n += c.Counters()
		}
	}
	return n
}

// scaledGroups is groups whose optimizer takes the loss scale along.
type scaledGroups struct{ groups }

func (scaledGroups) scalesItself() {}

// stateLike makes a tensor of the optimizer's state for p, as an op makes it from one
// of the same shape.
func stateLike(p *shadow.Tensor, op string, of *shadow.Tensor, dt shadow.DType) *shadow.Tensor {
	w := p.World()
	defer w.Tagged(shadow.OptimizerState, p.Name())()
	w.Op(op)
	return of.EmptyLike(dt).Hold()
}

// zerosLike is a state of p's shape.
func zerosLike(p *shadow.Tensor, dt shadow.DType) *shadow.Tensor {
	return stateLike(p, "zeros_like", p, dt)
}

// zeros is a float32 state with its own shape.
func zeros(p *shadow.Tensor, size shadow.Shape) *shadow.Tensor {
	w := p.World()
	defer w.Tagged(shadow.OptimizerState, p.Name())()
	w.Op("zeros")
	return w.Empty(size, shadow.Float32).Hold()
}

// foreach allocates one result per tensor.
func foreach(w *shadow.World, op string, ts []*shadow.Tensor) []*shadow.Tensor {
	w.Op(op)
	out := make([]*shadow.Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.EmptyLike(t.DType()).Hold()
	}
	return out
}

// foreachEach runs a step over each group of parameters that share a type. The
// list that a group's step makes has a Python name, so that it goes when the
// next group's list is there, or at the end.
func foreachEach(params []*shadow.Tensor, temporaries func(group []*shadow.Tensor) []*shadow.Tensor) {
	var held []*shadow.Tensor
	for _, group := range byType(params) {
		made := temporaries(group)
		dropList(held)
		held = made
	}
	dropList(held)
}

// dropList ends a Python list: it releases its items from the last to the first.
func dropList(ts []*shadow.Tensor) {
	for i := len(ts) - 1; i >= 0; i-- {
		ts[i].Drop()
	}
}

// withGrad is the parameters that have a gradient.
func withGrad(params []*shadow.Tensor) []*shadow.Tensor {
	out := make([]*shadow.Tensor, 0, len(params))
	for _, p := range params {
		if p.Grad() != nil {
			out = append(out, p)
		}
	}
	return out
}

// byType groups tensors by element type. The type seen last comes first: PyTorch
// collects the groups in a C++ hash map (_group_tensors_by_device_and_dtype), which
// hands them out so.
func byType(ts []*shadow.Tensor) [][]*shadow.Tensor {
	var order []shadow.DType
	groups := map[shadow.DType][]*shadow.Tensor{}
	for _, t := range ts {
		if groups[t.DType()] == nil {
			order = append(order, t.DType())
		}
		groups[t.DType()] = append(groups[t.DType()], t)
	}
	out := make([][]*shadow.Tensor, len(order))
	for i, d := range order {
		out[len(order)-1-i] = groups[d]
	}
	return out
}

// ZeroGrad is optimizer.zero_grad(): gradients are dropped, not filled.
func ZeroGrad(params []*shadow.Tensor) {
	for _, p := range params {
		p.TakeGrad().Drop()
	}
}
