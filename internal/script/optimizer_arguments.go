// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// Optimizers in torch.optim that have no name in a setup: arguments that change what they allocate, and
// additional classes.

// groupArguments are the arguments of an optimizer; a parameter group may override them.
type groupArguments struct {
	a     arguments
	group *dict
}

func (g groupArguments) value(i int, name string) value {
	if g.group != nil {
		if v, ok := g.group.get(name); ok {
			return v
		}
	}
	return g.a.or(i, name, nil)
}

// some reports whether the argument is a number other than zero.
func (g groupArguments) some(i int, name string) bool {
	x, ok := number(g.value(i, name))
	return ok && x != 0
}

func (g groupArguments) is(i int, name string) bool {
	on, _ := g.value(i, name).(bool)
	return on
}

// foreachOf describes an optimizer in foreach form whose class or arguments have no name in a setup; ok is false for
// all others.
func foreachOf(class string, g groupArguments) (f train.Foreach, ok bool) {
	count := func(on bool) int { return map[bool]int{true: 1}[on] }
	decays := g.some(4, "weight_decay")
	switch strings.ToLower(class) {
	case "rmsprop":
		momentum, centered := g.some(5, "momentum"), g.is(6, "centered")
		return train.Foreach{States: 1 + count(momentum) + count(centered), Decays: decays, Roots: true}, momentum || centered
	case "asgd":
		return train.Foreach{States: 1, Scalars: 3, Averages: true}, true
	}
	return f, false
}

// foreachOptimizer makes a torch.optim optimizer described by foreachOf, or returns nil.
func (in *interpreter) foreachOptimizer(path, class string, a arguments) value {
	plain, said := a.or(-1, "foreach", nil).(bool)
	if in.Optimizer != "" || !strings.HasPrefix(path, "torch.optim.") || said && !plain || (groupArguments{a: a}).is(-1, "fused") {
		return nil
	}
	var how []train.Foreach
	special := false
	for _, d := range groupDicts(a.or(0, "params", nil)) {
		f, ok := foreachOf(class, groupArguments{a, d})
		how, special = append(how, f), special || ok
	}
	if !special {
		return nil
	}
	in.result.uses(strings.ToLower(class))
	groups := in.parameterGroups(a.or(0, "params", nil))
	return &optimizerValue{opt: train.NewForeach(in.World, how, groups), params: slices.Concat(groups...)}
}

// groupDicts returns the dict of each parameter group; a single nil means one group without a dict.
func groupDicts(params value) []*dict {
	l, ok := params.(*list)
	if !ok || len(l.items) == 0 {
		return []*dict{nil}
	}
	if _, grouped := l.items[0].(*dict); !grouped {
		return []*dict{nil}
	}
	var out []*dict
	for _, g := range l.items {
		d, _ := g.(*dict)
		out = append(out, d)
	}
	return out
}

// parameterGroups returns the trained parameters of each group.
func (in *interpreter) parameterGroups(params value) (out [][]*shadow.Tensor) {
	for _, d := range groupDicts(params) {
		if d != nil {
			params = d
		}
		out = append(out, trainedOf(in.tensors(params)))
	}
	return out
}
