// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// stated is an optimizer whose states can be read and replaced. States has one entry for each parameter, nil for a
// parameter that has no states. Replace takes ownership of what it stores; a nil entry leaves a parameter's states as
// they are.
type stated interface {
	States() [][]*shadow.Tensor
	Replace(states [][]*shadow.Tensor)
}

// States returns the states of each parameter of an optimizer, and reports whether they are known.
func States(o Optimizer) (out [][]*shadow.Tensor, known bool) {
	switch o := o.(type) {
	case groups:
		for _, g := range o {
			of, ok := States(g)
			if !ok {
				return nil, false
			}
			out = append(out, of...)
		}
		return out, true
	case scaledGroups:
		return States(o.groups)
	case stated:
		return o.States(), true
	}
	return nil, false
}

// Replace replaces an optimizer's states with others of the same shapes, as load_state_dict does, and reports whether it
// can.
func Replace(o Optimizer, states [][]*shadow.Tensor) bool {
	if _, known := States(o); !known {
		return false
	}
	replace(o, states)
	return true
}

func replace(o Optimizer, states [][]*shadow.Tensor) {
	switch o := o.(type) {
	case groups:
		for _, g := range o {
			of, _ := States(g)
			n := min(len(of), len(states))
			replace(g, states[:n])
			states = states[n:]
		}
	case scaledGroups:
		replace(o.groups, states)
	case stated:
		o.Replace(states)
	}
}

// slots refers to the variables that hold a parameter's states.
type slots []**shadow.Tensor

// read returns the tensors in the slots, or nil if there are none.
func (s slots) read() (out []*shadow.Tensor) {
	for _, slot := range s {
		if *slot != nil {
			out = append(out, *slot)
		}
	}
	return out
}

// write replaces the tensors in the slots.
func (s slots) write(ts []*shadow.Tensor) {
	for i, slot := range s {
		if i < len(ts) {
			old := *slot
			*slot = ts[i]
			old.Drop()
		}
	}
}

// statesIn lists the states of parameters that are kept one list for each parameter.
func statesIn(params []*shadow.Tensor, state map[*shadow.Tensor][]*shadow.Tensor) (out [][]*shadow.Tensor) {
	for _, p := range params {
		out = append(out, state[p])
	}
	return out
}

// replaceIn replaces such lists.
func replaceIn(params []*shadow.Tensor, state map[*shadow.Tensor][]*shadow.Tensor, by [][]*shadow.Tensor) {
	for i, p := range params {
		if i < len(by) && by[i] != nil {
			old := state[p]
			state[p] = by[i]
			dropList(old)
		}
	}
}

// statesOf lists the states of parameters that have a single one each.
func statesOf(params []*shadow.Tensor, state map[*shadow.Tensor]*shadow.Tensor) (out [][]*shadow.Tensor) {
	for _, p := range params {
		t := state[p]
		out = append(out, slots{&t}.read())
	}
	return out
}

// replaceOf replaces such states.
func replaceOf(params []*shadow.Tensor, state map[*shadow.Tensor]*shadow.Tensor, by [][]*shadow.Tensor) {
	for i, p := range params {
		if i < len(by) && len(by[i]) == 1 {
			t := state[p]
			slots{&t}.write(by[i])
			state[p] = t
		}
	}
}
