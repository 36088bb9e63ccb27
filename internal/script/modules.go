// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// What an object that derives nn.Module has from it: the models among its attributes.

// networks is the models that a value holds, in the order of their attributes.
func networks(v value) []*network {
	var out []*network
	seen := map[value]bool{} // objects may hold each other
	var look func(v value)
	look = func(v value) {
		if n, ok := v.(*network); ok {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
			return
		}
		held := heldBy(v)
		if held == nil || seen[v] {
			return
		}
		seen[v] = true
		for _, x := range held {
			look(x)
		}
	}
	look(v)
	return out
}

// heldBy is what a container or a module holds.
func heldBy(v value) []value {
	switch v := v.(type) {
	case *instance:
		if isModule(v) {
			return v.attrs.vals
		}
	case *list:
		return v.items
	case *dict:
		return v.vals
	}
	return nil
}

func isModule(o *instance) bool {
	return o.class.derives("Module") || o.class.derives("LightningModule")
}

// moduleMethod is a method that an object has from nn.Module, or from a base that is not known.
func (in *interpreter) moduleMethod(o *instance, name string, a arguments) value {
	name = strings.TrimPrefix(name, "super.")
	switch name {
	case "__init__", "register_buffer", "save_hyperparameters", "log", "log_dict", "print":
		return nil
	case "to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval", "requires_grad_", "zero_grad", "gradient_checkpointing_enable":
		for _, n := range networks(o) {
			drop(n.call(in, name, a))
		}
		return hold(o)
	case "parameters", "named_parameters", "state_dict":
		return in.joined(networks(o), name, a)
	}
	return unknown{}
}

// joined is what a method gives for each of several models, in one list or dict.
func (in *interpreter) joined(ns []*network, name string, a arguments) value {
	if len(ns) == 0 {
		return &list{}
	}
	out := ns[0].call(in, name, a)
	for _, n := range ns[1:] {
		more := n.call(in, name, a)
		if d, ok := out.(*dict); ok {
			in.merge(d, more)
			drop(more)
			continue
		}
		if l, ok := out.(*list); ok {
			l.items = append(l.items, more.(*list).items...)
		}
	}
	return out
}

// modesOf is whether each model of a module trains.
func modesOf(_ *interpreter, a arguments) value {
	out := &list{}
	for _, n := range networks(a.or(0, "", nil)) {
		out.items = append(out.items, !n.mode.Eval)
	}
	return out
}

// setModes gives the models of a module the modes that they had.
func setModes(_ *interpreter, a arguments) value {
	l, _ := a.or(1, "", nil).(*list)
	for i, n := range networks(a.or(0, "", nil)) {
		if l != nil && i < len(l.items) {
			n.mode.Eval = l.items[i] == false
		}
	}
	return nil
}

// toggled freezes the parameters of other optimizers than the given one, and returns those that it froze.
func toggled(in *interpreter, a arguments) value {
	mine := map[*shadow.Tensor]bool{}
	if o, ok := a.or(0, "", nil).(*optimizerValue); ok {
		for _, p := range o.params {
			mine[p] = true
		}
	}
	out := &list{}
	l, _ := a.or(1, "", nil).(*list)
	if l == nil {
		return out
	}
	for _, v := range l.items {
		o, ok := v.(*optimizerValue)
		if !ok {
			continue
		}
		for _, p := range o.params {
			if !mine[p] && p.RequiresGrad() {
				p.SetTrained(false)
				out.items = append(out.items, p.Hold())
			}
		}
	}
	return out
}

// toLast has an iterator over batches go on to the last one.
func toLast(_ *interpreter, a arguments) value {
	if it, ok := a.or(0, "", nil).(*iterator); ok && it.skip != nil {
		it.skip()
	}
	return nil
}

// callerArguments is the names of the script's function that called into a library.
func callerArguments(in *interpreter, _ arguments) value {
	d := &dict{record: true, open: true}
	for i := len(in.scopes) - 1; i >= 0; i-- {
		s := in.scopes[i]
		if strings.HasPrefix(s.file.Path, "library/") {
			continue
		}
		for k, name := range s.vars.keys {
			if name != "self" && !s.isModule {
				d.set(name, hold(s.vars.vals[k]))
			}
		}
		break
	}
	return d
}
