// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// copiedModule implements copy.deepcopy for an object: parameters and buffers first, then submodules.
func (in *interpreter) copiedModule(o *instance, done map[value]value) value {
	c := &instance{class: o.class, buffers: o.buffers}
	done[o] = c
	for i, k := range o.attrs.keys {
		c.attrs.set(k, hold(o.attrs.vals[i])) // sets all attributes first, to keep their order
	}
	copies := func(ms []member) {
		for _, m := range ms {
			c.attrs.set(m.name, in.copiedValue(m.of, done))
		}
	}
	copies(o.ownParameters())
	copies(o.ownBuffers())
	copies(o.children())
	for i, k := range o.attrs.keys { // lists may refer to the copied modules and parameters
		if l, ok := o.attrs.vals[i].(*list); ok {
			c.attrs.set(k, in.copiedValue(l, done))
		}
		if d, ok := o.attrs.vals[i].(*dict); ok {
			c.attrs.set(k, in.copiedValue(d, done))
		}
	}
	return c
}

// copiedValue implements copy.deepcopy for a value; done maps values to their copies.
func (in *interpreter) copiedValue(v value, done map[value]value) value {
	switch v.(type) {
	case *shadow.Tensor, *network, *submodule, *instance, *list, *dict, *configValue:
		if c, ok := done[v]; ok {
			return hold(c)
		}
	}
	switch t := v.(type) {
	case *shadow.Tensor:
		c := in.copiedTensor(t)
		done[t] = c
		return c
	case *network:
		c := in.copiedNetwork(t)
		done[t] = c
		return c
	case *instance:
		return in.copiedModule(t, done)
	case *configValue:
		c := t.copied()
		done[t] = c
		return c
	case *list:
		c := &list{tuple: t.tuple, opaque: t.opaque}
		done[t] = c
		in.grow(len(t.items))
		for _, x := range t.items {
			c.items = append(c.items, in.copiedValue(x, done))
		}
		return c
	case *dict:
		c := &dict{record: t.record, batch: t.batch, open: t.open}
		done[t] = c
		for i, k := range t.keys {
			c.set(k, in.copiedValue(t.vals[i], done))
		}
		return c
	}
	return hold(v)
}

// copiedTensor returns a copy of t in its own memory.
func (in *interpreter) copiedTensor(t *shadow.Tensor) *shadow.Tensor {
	trained := t.RequiresGrad()
	if !t.Here() {
		c := in.World.Parameter(t.Name(), t.Shape(), t.DType(), true)
		c.SetTrained(trained)
		return c
	}
	record := in.World.NoGrad()
	c := t.Clone().Hold()
	record()
	c.Rename(t.Name())
	if trained {
		c.SetTrained(true)
	}
	return c
}
