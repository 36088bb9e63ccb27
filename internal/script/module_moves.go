// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"

	"snug/internal/shadow"
)

// applies implements module.apply(fn): inner modules first.
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
		case *submodule:
			device, dt := moveTo(name, a)
			for _, p := range c.parameters(in) {
				moveParameter(p, device, dt, a)
			}
		case *instance:
			in.moves(c, name, a, seen)
		}
	}
	device, dt := moveTo(name, a)
	for _, p := range o.ownParameters() {
		moveParameter(p.of.(*shadow.Tensor), device, dt, a)
	}
	for _, b := range o.ownBuffers() {
		o.attrs.set(b.name, in.movedBuffer(b.of, device, dt))
	}
	if flat, ok := o.attrs.get("_flat_weights"); ok && (device == "cuda" || dt != shadow.None) {
		shadow.FlattenWeights(in.tensors(flat))
	}
}

// moveTo returns the device and dtype that a call of to(…), cuda(), half() or a similar method requests.
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

func moveParameter(p *shadow.Tensor, device string, dt shadow.DType, a arguments) {
	if dt != shadow.None {
		p.CastInPlace(dt)
	}
	if wantsLast(a) {
		p.LayLast(device == "cuda")
		return
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
