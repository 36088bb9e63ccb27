// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// Tensors in host memory. They use no memory on the card until they are moved there.

func (in *interpreter) hostAttr(t *hostTensor, name string) (value, bool) {
	switch name {
	case "shape":
		return sizeValue(t.size), true
	case "dtype":
		return dtypeValue(t.dtype), true
	case "device":
		return "cpu", true
	case "ndim":
		return len(t.size), true
	case "requires_grad", "is_cuda":
		return false, true
	}
	return nil, false
}

// hostMethod calls a method of a host tensor. The result has a known shape, or is unknown.
func (in *interpreter) hostMethod(t *hostTensor, name string, a arguments) value {
	switch name {
	case "to", "cuda":
		return in.hostMove(t, name, a)
	case "contiguous":
		return &hostTensor{size: t.size, dtype: t.dtype, last: wantsLast(a), causal: t.causal}
	case "long":
		return &hostTensor{size: t.size, dtype: shadow.Int64}
	case "float":
		return &hostTensor{size: t.size, dtype: shadow.Float32}
	case "astype":
		if dt, ok := typeNamed(a.or(0, "dtype", nil)); ok {
			return &hostTensor{size: t.size, dtype: dt}
		}
		return unknown{}
	case "half":
		return &hostTensor{size: t.size, dtype: shadow.Float16}
	case "bfloat16":
		return &hostTensor{size: t.size, dtype: shadow.BFloat16}
	case "size":
		if i, ok := a.or(0, "dim", nil).(int); ok {
			if i < 0 {
				i += len(t.size)
			}
			if i >= 0 && i < len(t.size) {
				return t.size[i]
			}
		}
		return sizeValue(t.size)
	case "dim":
		return len(t.size)
	case "numel":
		return t.numel()
	case "view", "reshape":
		if d := inferred(sizes(a), t.numel()); d != nil {
			return &hostTensor{size: d, dtype: t.dtype}
		}
		return unknown{}
	case "item":
		return placeIn(t.least, t.most)
	case "tolist":
		return in.listOf(t)
	case "sum", "mean", "argmax", "max", "min":
		if l := a.or(0, "dim", a.or(0, "axis", nil)); l == nil {
			return unknown{}
		}
	}
	f, ok := tensorMethods[name]
	if !ok || strings.HasSuffix(name, "_") || name == "backward" {
		return t
	}
	v := in.onHost(arguments{pos: append([]value{t}, a.pos...), names: a.names, named: a.named}, func(a arguments) value {
		return f(in, a.pos[0].(*shadow.Tensor), arguments{pos: a.pos[1:], names: a.names, named: a.named})
	})
	if h, ok := v.(*hostTensor); ok && len(h.size) == 2 && (t.causal || name == "triu") {
		h.causal = true // a causal mask stays causal after masked_fill or bool
	}
	return v
}

// hostMove implements to and cuda for a host tensor.
func (in *interpreter) hostMove(t *hostTensor, name string, a arguments) value {
	device, dt := destination(a)
	if name == "cuda" {
		device = "cuda"
	}
	moved := &hostTensor{size: t.size, dtype: t.dtype, causal: t.causal, last: t.last}
	if dt != shadow.None {
		moved.dtype = dt
	}
	if device == "cuda" && wantsLast(a) {
		return in.World.InputLast(moved.dtype, t.last, t.size...)
	}
	moved.last = moved.last || wantsLast(a)
	if device != "cuda" {
		return moved
	}
	return in.onto(moved)
}

// numel returns the number of elements.
func (t *hostTensor) numel() int {
	n := 1
	for _, d := range t.size {
		n *= d
	}
	return n
}

// onto moves a host tensor to the card.
func (in *interpreter) onto(t *hostTensor) *shadow.Tensor {
	out := in.World.Input(t.dtype, t.size...)
	if t.last {
		out.MadeLast()
	}
	if t.causal && in.World != in.host {
		in.causal = append(in.causal, out)
	}
	return out
}

func indexHost(t *hostTensor, key value) value {
	keys := []value{key}
	if l, ok := key.(*list); ok && l.tuple {
		keys = l.items
	}
	size := append([]int(nil), t.size...)
	dim := 0
	for _, k := range keys {
		if dim >= len(size) {
			return unknown{}
		}
		switch k := k.(type) {
		case int:
			size = append(size[:dim], size[dim+1:]...)
		case *slice:
			lo, hi := k.bounds(size[dim])
			size[dim] = hi - lo
			dim++
		case *place, unknown:
			size = append(size[:dim], size[dim+1:]...)
		default:
			return unknown{}
		}
	}
	if len(size) == 0 && t.dtype == shadow.Int64 {
		return placeIn(t.least, t.most)
	}
	return &hostTensor{size: size, dtype: t.dtype, least: t.least, most: t.most}
}

// maxListed is the number of elements up to which tolist makes a list.
const maxListed = 1 << 14

// listOf implements t.tolist() of a host tensor: nested lists of unknown numbers.
func (in *interpreter) listOf(t *hostTensor) value {
	if t.numel() > maxListed || len(t.size) > 2 {
		return unknown{}
	}
	if len(t.size) == 0 {
		return numberIn(t)
	}
	in.grow(t.size[0])
	out := &list{items: make([]value, t.size[0]), loose: t.loose}
	for i := range out.items {
		if len(t.size) == 1 {
			out.items[i] = numberIn(t)
		} else {
			out.items[i] = in.listOf(&hostTensor{size: t.size[1:], dtype: t.dtype})
		}
	}
	return out
}

// numberIn returns an element of a host tensor as a Python number, whose value is unknown.
func numberIn(t *hostTensor) value {
	if t.dtype.Floating() {
		return &hostTensor{size: []int{}, dtype: shadow.Float64}
	}
	return placeIn(t.least, t.most)
}
