// SPDX-License-Identifier: Apache-2.0

// Package train has the parts of a training loop around the model: optimizers, the gradient scaler,
// clipping, and the wrappers that spread a run over several GPUs (DDP, FSDP1 and 2, DeepSpeed's ZeRO, ZeroRedundancyOptimizer). Each
// allocates what the library named in its file allocates; in comments, "X is Y" means that X does what
// that library's Y does. Package simulate runs the loop itself.
package train

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"snug/internal/shadow"
)

// Optimizers (torch/optim, 2.11): their states, which are allocated in the first step, and a step's temporary
// memory. Each has its own file; this one has what they share. CONTRIBUTING.md describes what else a new
// optimizer needs.

// Optimizer updates parameters from their gradients.
type Optimizer interface {
	Step() // one update of all parameters
}

// optimizers maps the names used in a setup to optimizers.
var optimizers = map[string]func(w *shadow.World, params []*shadow.Tensor) Optimizer{
	"adamw":              newAdam, // foreach, PyTorch's default
	"adamw-fused":        newAdamFused,
	"adamw-loop":         newAdamLoop,
	"adam":               newAdam, // without weight decay, Adam and AdamW make the same allocations
	"adam-fused":         newAdamFused,
	"adam-loop":          newAdamLoop,
	"adam-amsgrad":       newAmsgrad, // also AdamW with amsgrad
	"adamax":             newAdamax,
	"nadam":              newNAdam,
	"radam":              newRAdam,
	"sgd":                newSGD,
	"sgd-momentum":       newSGDMomentum,
	"adafactor":          newAdafactor,
	"rmsprop":            newRMSprop,
	"adagrad":            newAdagrad,
	"lion":               newLion,
	"adamw-8bit":         newAdam8bit,
	"lion-8bit":          newLion8bit,
	"adamw-torchao-8bit": newTorchaoAdam,
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

// NewOptimizer makes an optimizer over the trained parameters, in one or more groups. An empty name means AdamW.
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
	if name == "adafactor" { // Adafactor's loop variables persist from group to group
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

// groups is an optimizer over several groups of parameters. It steps them one by one, and each allocates its
// states in its first step.
type groups []Optimizer

// Step updates one group after the other.
func (g groups) Step() {
	for _, o := range g {
		o.Step()
	}
}

// Restore allocates the states that an optimizer loads from a file, and reports whether their sizes are known.
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
	case *sgd:
		return true
	}
	return false
}

// Counters returns the number of step counters in all groups.
func (g groups) Counters() int {
	n := 0
	for _, o := range g {
		if c, ok := o.(interface{ Counters() int }); ok {
			n += c.Counters()
		}
	}
	return n
}

// scaledGroups is groups for an optimizer that applies the loss scale itself.
type scaledGroups struct{ groups }

func (scaledGroups) scalesItself() {}

// stateLike makes a state tensor for p with an op on a tensor of the same shape.
func stateLike(p *shadow.Tensor, op string, of *shadow.Tensor, dt shadow.DType) *shadow.Tensor {
	w := p.World()
	defer w.Tagged(shadow.OptimizerState, p.Name())()
	w.Op(op)
	return of.EmptyLike(dt).Hold()
}

// zerosLike makes a state of p's shape.
func zerosLike(p *shadow.Tensor, dt shadow.DType) *shadow.Tensor {
	return stateLike(p, "zeros_like", p, dt)
}

// zeros makes a float32 state of the given shape.
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

// foreachEach runs a step over each group of parameters that share a type. The list that a group's step makes is
// bound to a Python variable, so it is freed once the next group's list exists. The last list is freed at the end,
// after the sums that weight decay made.
func foreachEach(params []*shadow.Tensor, d *decay, temporaries func(group []*shadow.Tensor) []*shadow.Tensor) {
	var held []*shadow.Tensor
	for _, group := range byType(params) {
		made := temporaries(group)
		dropList(held)
		held = made
	}
	d.end()
	dropList(held)
}

// dropList drops a Python list, releasing its items from last to first.
func dropList(ts []*shadow.Tensor) {
	for i := len(ts) - 1; i >= 0; i-- {
		ts[i].Drop()
	}
}

// withGrad returns the parameters that have a gradient.
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
// returns them in this order.
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
