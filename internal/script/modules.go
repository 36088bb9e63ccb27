// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// Models in the attributes of an nn.Module.

// networks returns the models in a value, in the order of its attributes.
func networks(v value) []*network {
	f := finder{seen: map[value]bool{}}
	f.find(v)
	return f.found
}

// finder searches objects for models. Objects may refer to each other.
type finder struct {
	found []*network
	seen  map[value]bool
}

func (f *finder) find(v value) {
	switch v.(type) {
	case *network, *instance, *list, *dict:
		if f.seen[v] {
			return
		}
		f.seen[v] = true
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

// modesOf returns whether each model of a module is in training mode.
func modesOf(_ *interpreter, a arguments) value {
	out := &list{}
	for _, n := range networks(a.or(0, "", nil)) {
		out.items = append(out.items, !n.mode.Eval)
	}
	return out
}

// setModes restores the modes returned by modesOf.
func setModes(_ *interpreter, a arguments) value {
	l, _ := a.or(1, "", nil).(*list)
	for i, n := range networks(a.or(0, "", nil)) {
		if l != nil && i < len(l.items) {
			n.mode.Eval = l.items[i] == false
		}
	}
	return nil
}

// toggled freezes the parameters that only other optimizers update, and returns those that it froze.
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

// optimizerToHost moves an optimizer's states to the host when its run has ended.
func optimizerToHost(_ *interpreter, a arguments) value {
	o := unwrapped(a.or(0, "", nil))
	if o == nil {
		return nil
	}
	states, _ := train.States(o.opt)
	for _, of := range states {
		for _, t := range of {
			t.ToMeta()
		}
	}
	return nil
}

// toLast advances an iterator over batches to the last batch.
func toLast(_ *interpreter, a arguments) value {
	if it, ok := a.or(0, "", nil).(*iterator); ok && it.skip != nil {
		it.skip()
	}
	return nil
}

// callerArguments returns the local variables of the script's function that called a library.
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

// copiedNetwork implements copy.deepcopy for a model. The copy is on the card if the model is.
func (in *interpreter) copiedNetwork(n *network) value {
	out := &network{dtype: n.dtype, casted: n.casted, mode: n.mode, bare: n.bare, loading: n.loading}
	switch {
	case n.waits:
		trained := map[string]bool{}
		for _, p := range n.net.Parameters() {
			trained[p.Name()] = p.RequiresGrad()
		}
		for _, p := range out.made(in).Parameters() {
			if on, ok := trained[p.Name()]; ok { // a module of the script may have replaced the parameter
				p.SetTrained(on)
			}
		}
	case n.net != nil:
		out.net, out.copied = in.build(Making{DType: n.dtype, Cast: n.casted, Copied: true, Loading: n.loading}), true
	}
	n.copyReplaced(in, out)
	return out
}
