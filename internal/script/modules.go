// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// What an object that derives nn.Module has from it: the models among its attributes.

// networks is the models that a value holds, in the order of their attributes.
func networks(v value) []*network {
	var f finder
	f.find(v)
	return f.found
}

// finder goes through objects for models. Objects may hold each other.
type finder struct {
	found []*network
	seen  []value
}

func (f *finder) find(v value) {
	switch v.(type) {
	case *network, *instance, *list, *dict:
		if slices.Contains(f.seen, v) {
			return
		}
		f.seen = append(f.seen, v)
	}
	switch v := v.(type) {
	case *network:
		f.found = append(f.found, v)
	case *instance:
		if isModule(v) {
			f.all(v.attrs.vals)
		}
	case *list:
		f.all(v.items)
	case *dict:
		f.all(v.vals)
	}
}

func (f *finder) all(vs []value) {
	for _, v := range vs {
		f.find(v)
	}
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

// optimizerToHost takes the states of an optimizer off the card, whose run has ended.
func optimizerToHost(_ *interpreter, a arguments) value {
	o := unwrapped(a.or(0, "", nil))
	if o == nil {
		return nil
	}
	if s, ok := o.opt.(stateful); ok {
		for _, of := range s.States() {
			for _, t := range of {
				t.ToMeta()
			}
		}
	}
	return nil
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
		if isLibrary(s.file) {
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

// copiedNetwork is copy.deepcopy of a model, in the card's memory where the model is there.
func (in *interpreter) copiedNetwork(n *network) value {
	out := &network{dtype: n.dtype, casted: n.casted, mode: n.mode, bare: n.bare, loading: n.loading}
	switch {
	case n.waits:
		for i, p := range out.made(in).Parameters() {
			p.SetTrained(n.net.Parameters()[i].RequiresGrad())
		}
	case n.net != nil:
		out.net, out.copied = in.build(Making{DType: n.dtype, Cast: n.casted, Copied: true, Loading: n.loading}), true
	}
	return out
}
