// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Methods and attributes inherited from nn.Module. Parameters, buffers and submodules are attributes, in the
// order in which they were set.

func registerModules() {
	natives["torch.nn.Parameter"] = newParameter
	aliases["torch.nn.parameter.Parameter"] = "torch.nn.Parameter"
	aliases["torch.nn.modules.module.Module"] = "torch.nn.Module"
	for _, name := range []string{"kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "normal_", "uniform_", "zeros_", "ones_", "constant_", "trunc_normal_", "orthogonal_", "eye_"} {
		natives["torch.nn.init."+name] = firstTensor
	}
}

func firstTensor(_ *interpreter, a arguments) value { return hold(a.or(0, "tensor", nil)) }

// newParameter implements nn.Parameter(data, requires_grad). The parameter uses no memory on the card if data is
// in host memory.
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

// parameterOf returns v as a tensor, and reports whether it is an nn.Parameter.
func parameterOf(v value) (*shadow.Tensor, bool) {
	t, ok := v.(*shadow.Tensor)
	return t, ok && t.Name() != ""
}

// register names the parameter v after the attribute it is assigned to.
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
		case *network, *submodule:
			return true
		case *instance:
			return isModule(v)
		}
		return false
	})
}

// ownParameters returns a module's own parameters, without those of its submodules.
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

// everyModule calls f once for a module and each module inside it, outer modules first, with their paths.
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

// namedParameters returns a module's parameters with their paths, without duplicates.
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
		case *submodule:
			for _, p := range m.namedParameters(in) {
				add(joinPath(path, p.name), p.of.(*shadow.Tensor))
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
