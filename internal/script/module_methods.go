// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"strings"

	"snug/internal/shadow"
)

// Methods and attributes that an object inherits from nn.Module. Its parameters, buffers and modules are attributes,
// in the order in which they were set.

func registerModules() {
	natives["torch.nn.Parameter"] = newParameter
	aliases["torch.nn.parameter.Parameter"] = "torch.nn.Parameter"
	aliases["torch.nn.modules.module.Module"] = "torch.nn.Module"
	for _, name := range []string{"kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "normal_", "uniform_", "zeros_", "ones_", "constant_", "trunc_normal_", "orthogonal_", "eye_"} {
		natives["torch.nn.init."+name] = firstTensor
	}
}

func firstTensor(_ *interpreter, a arguments) value { return hold(a.or(0, "tensor", nil)) }

// newParameter implements nn.Parameter(data, requires_grad). It takes no memory if its data is on the host.
func newParameter(in *interpreter, a arguments) value {
	trained, ok := a.or(1, "requires_grad", true).(bool)
	var p *shadow.Tensor
	switch t := a.or(0, "data", nil).(type) {
	case *shadow.Tensor:
		p = t.AsParameter(trained || !ok).Hold()
	case *hostTensor:
		p = in.World.Parameter("", shadow.Dims(t.size...), t.dtype, true)
		p.SetTrained(trained || !ok)
	default:
		return unknown{}
	}
	p.Rename("parameter")
	return p
}

// parameterOf returns the tensor if an attribute is an nn.Parameter.
func parameterOf(v value) (*shadow.Tensor, bool) {
	t, ok := v.(*shadow.Tensor)
	return t, ok && t.Name() != ""
}

// register names a parameter after the attribute it is assigned to.
func (o *instance) register(name string, v value) {
	if p, ok := parameterOf(v); ok && p.Name() == "parameter" {
		p.Rename(name)
	}
}

// member is a parameter, buffer or submodule, with its attribute name.
type member struct {
	name string
	of   value
}

// children returns the direct submodules.
func (o *instance) children() []member {
	return o.members(func(_ string, v value) bool {
		switch v := v.(type) {
		case *network:
			return true
		case *instance:
			return isModule(v)
		}
		return false
	})
}

// ownParameters returns a module's parameters without those of its submodules.
func (o *instance) ownParameters() []member {
	return o.members(func(_ string, v value) bool { _, ok := parameterOf(v); return ok })
}

// ownBuffers returns the buffers set by register_buffer.
func (o *instance) ownBuffers() []member {
	return o.members(func(name string, v value) bool { return o.buffers[name] && v != nil })
}

func (o *instance) members(is func(name string, v value) bool) []member {
	var out []member
	for i, k := range o.attrs.keys {
		if name, ok := k.(string); ok && is(name, o.attrs.vals[i]) {
			out = append(out, member{name, o.attrs.vals[i]})
		}
	}
	return out
}

// everyModule calls f for a module and all modules inside it, outer first, each once, with their paths.
func everyModule(v value, path string, seen map[value]bool, f func(path string, m value)) {
	if seen[v] {
		return
	}
	seen[v] = true
	f(path, v)
	if o, ok := v.(*instance); ok {
		for _, c := range o.children() {
			everyModule(c.of, joinPath(path, c.name), seen, f)
		}
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// namedParameters returns a module's parameters with their paths, each once.
func (in *interpreter) namedParameters(v value) []member {
	var out []member
	seen := map[*shadow.Tensor]bool{}
	add := func(path string, p *shadow.Tensor) {
		if !seen[p] {
			seen[p] = true
			out = append(out, member{path, p})
		}
	}
	everyModule(v, "", map[value]bool{}, func(path string, m value) {
		switch m := m.(type) {
		case *network:
			for _, p := range m.made(in).Parameters() {
				add(joinPath(path, p.Name()), p)
			}
		case *instance:
			for _, p := range m.ownParameters() {
				add(joinPath(path, p.name), p.of.(*shadow.Tensor))
			}
		}
	})
	return out
}

// namedBuffers returns the buffers of modules that the script defines.
func namedBuffers(v value) []member {
	var out []member
	everyModule(v, "", map[value]bool{}, func(path string, m value) {
		if o, ok := m.(*instance); ok {
			for _, b := range o.ownBuffers() {
				out = append(out, member{joinPath(path, b.name), b.of})
			}
		}
	})
	return out
}

// moduleMethod calls a method inherited from nn.Module, or from an unknown base.
func (in *interpreter) moduleMethod(o *instance, name string, a arguments) value {
	name = strings.TrimPrefix(name, "super.")
	switch name {
	case "__init__", "save_hyperparameters", "log", "log_dict", "print", "load_state_dict":
		return nil
	case "register_buffer", "register_parameter", "add_module", "register_module":
		in.registers(o, name, a)
		return nil
	case "to", "cuda", "cpu", "half", "bfloat16", "float", "double", "train", "eval", "requires_grad_", "zero_grad", "gradient_checkpointing_enable", "apply":
		in.changes(o, name, a)
		return hold(o)
	}
	return in.asks(o, name, a)
}

// asks calls a method that lists the contents of a module.
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
		return values(modulesOf(o))
	case "named_modules":
		return pairs(modulesOf(o))
	case "state_dict":
		return in.stateOf(o)
	case "get_submodule":
		path, _ := a.or(0, "target", "").(string)
		for _, m := range modulesOf(o) {
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

func modulesOf(o *instance) []member {
	var out []member
	everyModule(o, "", map[value]bool{}, func(path string, m value) { out = append(out, member{path, m}) })
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
		m.mode.Eval = !on
	case *instance:
		m.attrs.set("training", on)
	}
}

// applies implements module.apply(fn), inner modules first.
func (in *interpreter) applies(v value, fn value) {
	if o, ok := v.(*instance); ok {
		for _, c := range o.children() {
			in.applies(c.of, fn)
		}
	}
	drop(in.invoke(fn, arguments{pos: []value{hold(v)}}))
}

// moves implements module.to(…) and similar methods in the order of Module._apply: inner modules first, then
// parameters, then buffers.
func (in *interpreter) moves(o *instance, name string, a arguments, seen map[value]bool) {
	if seen[o] {
		return
	}
	seen[o] = true
	for _, c := range o.children() {
		switch c := c.of.(type) {
		case *network:
			drop(c.call(in, name, a))
		case *instance:
			in.moves(c, name, a, seen)
		}
	}
	device, dt := moveTo(name, a)
	for _, p := range o.ownParameters() {
		moveParameter(p.of.(*shadow.Tensor), device, dt)
	}
	for _, b := range o.ownBuffers() {
		o.attrs.set(b.name, in.movedBuffer(b.of, device, dt))
	}
	if flat, ok := o.attrs.get("_flat_weights"); ok && (device == "cuda" || dt != shadow.None) {
		shadow.FlattenWeights(in.tensors(flat))
	}
}

// moveTo returns the device and dtype that to(…), cuda(), half() and so on ask for.
func moveTo(name string, a arguments) (device string, dt shadow.DType) {
	switch name {
	case "cuda":
		return "cuda", shadow.None
	case "cpu":
		return "cpu", shadow.None
	case "half":
		return "", shadow.Float16
	case "bfloat16":
		return "", shadow.BFloat16
	case "float":
		return "", shadow.Float32
	case "double":
		return "", shadow.Float64
	}
	return destination(a)
}

func moveParameter(p *shadow.Tensor, device string, dt shadow.DType) {
	if dt != shadow.None {
		p.CastInPlace(dt)
	}
	if device == "cuda" {
		p.Fill()
	}
}

func (in *interpreter) movedBuffer(v value, device string, dt shadow.DType) value {
	switch t := v.(type) {
	case *shadow.Tensor:
		if dt != shadow.None && t.DType().Floating() {
			return t.To(dt).Hold()
		}
	case *hostTensor:
		to := &hostTensor{size: t.size, dtype: t.dtype}
		if t.dtype.Floating() {
			to.dtype = cmp.Or(dt, t.dtype)
		}
		if device == "cuda" {
			return in.onto(to)
		}
		return to
	}
	return hold(v)
}

// copiedModule implements copy.deepcopy of an object: parameters and buffers first, then submodules.
func (in *interpreter) copiedModule(o *instance, done map[value]value) value {
	c := &instance{class: o.class, buffers: o.buffers}
	done[o] = c
	for i, k := range o.attrs.keys {
		c.attrs.set(k, hold(o.attrs.vals[i])) // keeps the order of the attributes
	}
	copies := func(ms []member) {
		for _, m := range ms {
			c.attrs.set(m.name, in.copiedValue(m.of, done))
		}
	}
	copies(o.ownParameters())
	copies(o.ownBuffers())
	copies(o.children())
	for i, k := range o.attrs.keys { // lists that refer to the modules and parameters again
		if l, ok := o.attrs.vals[i].(*list); ok {
			c.attrs.set(k, in.copiedValue(l, done))
		}
		if d, ok := o.attrs.vals[i].(*dict); ok {
			c.attrs.set(k, in.copiedValue(d, done))
		}
	}
	return c
}

// copiedValue implements copy.deepcopy of a value; done maps values to the copies made so far.
func (in *interpreter) copiedValue(v value, done map[value]value) value {
	switch v.(type) {
	case *shadow.Tensor, *network, *instance, *list, *dict:
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

// copiedTensor returns a copy of a tensor in its own memory.
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
