// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// moduleMethod calls a method inherited from nn.Module, or from an unknown base.
func (in *interpreter) moduleMethod(o *instance, name string, a arguments) value {
	name = strings.TrimPrefix(name, "super.")
	switch name {
	case "__init__", "save_hyperparameters", "log", "log_dict", "print", "load_state_dict":
		return nil
	case "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook", "register_backward_hook":
		return in.registerHook(o, name, a)
	case "register_buffer", "register_parameter", "add_module", "register_module":
		in.registers(o, name, a)
		return nil
	case "to", "cuda", "cpu", "half", "bfloat16", "float", "double", "train", "eval", "requires_grad_", "zero_grad", "gradient_checkpointing_enable", "apply":
		in.changes(o, name, a)
		return hold(o)
	}
	return in.asks(o, name, a)
}

// asks calls a method that returns a part of a module, such as its parameters or submodules.
func (in *interpreter) asks(o *instance, name string, a arguments) value {
	switch name {
	case "parameters":
		return values(in.namedParameters(o))
	case "named_parameters":
		return pairs(in.namedParameters(o))
	case "buffers":
		return values(namedBuffers(o))
	case "named_buffers":
		return pairs(namedBuffers(o))
	case "children":
		return values(o.children())
	case "named_children":
		return pairs(o.children())
	case "modules":
		return values(in.modulesOf(o))
	case "named_modules":
		return pairs(in.modulesOf(o))
	case "state_dict":
		return in.stateOf(o)
	case "get_submodule":
		path, _ := a.or(0, "target", "").(string)
		for _, m := range in.modulesOf(o) {
			if m.name == path {
				return hold(m.of)
			}
		}
	case "get_parameter":
		path, _ := a.or(0, "target", "").(string)
		for _, m := range in.namedParameters(o) {
			if m.name == path {
				return hold(m.of)
			}
		}
	}
	return unknown{}
}

func (in *interpreter) modulesOf(o *instance) []member {
	var out []member
	everyModule(o, "", map[value]bool{}, func(path string, m value) {
		out = append(out, member{path, m})
		if s, ok := m.(*submodule); ok {
			for _, inner := range s.of.listed(in, s.path, nil, false) {
				out = append(out, member{joinPath(path, inner.name), inner.of})
			}
		}
		if n, ok := m.(*network); ok {
			for _, inner := range n.listed(in, "", nil, false) {
				out = append(out, member{joinPath(path, inner.name), inner.of})
			}
		}
	})
	return out
}

func values(ms []member) value {
	out := &list{}
	for _, m := range ms {
		out.items = append(out.items, hold(m.of))
	}
	return out
}

func pairs(ms []member) value {
	out := &list{}
	for _, m := range ms {
		out.items = append(out.items, tupleOf(m.name, hold(m.of)))
	}
	return out
}

// stateOf implements module.state_dict(): views of the parameters, and the buffers.
func (in *interpreter) stateOf(o *instance) value {
	d := &dict{}
	for _, m := range append(in.namedParameters(o), namedBuffers(o)...) {
		if t, ok := m.of.(*shadow.Tensor); ok {
			d.set(m.name, t.Detach().Hold())
			continue
		}
		d.set(m.name, hold(m.of))
	}
	return d
}

// registers implements register_buffer, register_parameter and add_module.
func (in *interpreter) registers(o *instance, kind string, a arguments) {
	name, ok := a.or(0, "name", "").(string)
	if !ok {
		return
	}
	v := a.or(1, map[string]string{"register_buffer": "tensor", "register_parameter": "param"}[kind], nil)
	if v == nil {
		v = a.or(1, "module", nil)
	}
	if kind == "register_buffer" {
		if o.buffers == nil {
			o.buffers = map[string]bool{}
		}
		o.buffers[name] = true
	}
	in.setattr(o, name, hold(v))
}

// changes calls a method that changes a module and those inside it.
func (in *interpreter) changes(o *instance, name string, a arguments) {
	switch name {
	case "train", "eval":
		on, ok := a.or(0, "mode", true).(bool)
		on = (on || !ok) && name == "train"
		everyModule(o, "", map[value]bool{}, func(_ string, m value) { setTraining(m, on) })
	case "requires_grad_":
		for _, p := range in.namedParameters(o) {
			drop(requiresGrad(in, p.of.(*shadow.Tensor), a))
		}
	case "zero_grad":
		var ps []*shadow.Tensor
		for _, p := range in.namedParameters(o) {
			ps = append(ps, p.of.(*shadow.Tensor))
		}
		zeroGrads(ps)
	case "gradient_checkpointing_enable":
		for _, n := range networks(o) {
			drop(n.call(in, name, a))
		}
	case "apply":
		in.applies(o, a.or(0, "fn", nil))
	default:
		in.moves(o, name, a, map[value]bool{})
	}
}

func setTraining(m value, on bool) {
	switch m := m.(type) {
	case *network:
		m.setMode(!on)
	case *instance:
		m.attrs.set("training", on)
	}
}
