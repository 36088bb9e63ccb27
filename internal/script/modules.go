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
	switch v := v.(type) {
	case *network:
		return []*network{v}
	case *instance:
		if !isModule(v) {
			return nil
		}
		return networksOf(v.attrs.vals)
	case *list:
		return networksOf(v.items)
	case *dict:
		return networksOf(v.vals)
	}
	return nil
}

func networksOf(vs []value) []*network {
	var out []*network
	for _, v := range vs {
		for _, n := range networks(v) {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

func isModule(o *instance) bool {
	return o.class.derives("Module") || o.class.derives("LightningModule")
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
