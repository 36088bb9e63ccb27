// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Weight normalization, and parameters that are computed when they are read (site-packages/torch_nn_utils_parametrize.py).

func registerWeightNorm() {
	natives["torch._weight_norm"] = weightNorm
	natives["torch.norm_except_dim"] = normExceptDim
	natives["builtins.delattr"] = func(_ *interpreter, a arguments) value {
		o, ok := a.or(0, "", nil).(*instance)
		if name, named := a.or(1, "", nil).(string); ok && named {
			o.attrs.remove(name)
		}
		return nil
	}
}

// parametrized returns the module that computes an attribute, or nil if it is not computed.
func (o *instance) parametrized(name string) *instance {
	all, ok := o.attrs.get("parametrizations")
	if !ok {
		return nil
	}
	if modules, ok := all.(*instance); ok {
		v, _ := modules.attrs.get(name)
		list, _ := v.(*instance)
		return list
	}
	return nil
}

// weightNorm implements torch._weight_norm(v, g, dim). The kernel exists for the first and the last dimension.
func weightNorm(in *interpreter, a arguments) value {
	v, okV := card(a, 0, "v")
	g, okG := card(a, 1, "g")
	dim, ok := a.or(2, "dim", 0).(int)
	if !okV || !okG {
		return unknown{}
	}
	if !ok || dim != 0 && dim != v.Dim()-1 {
		in.note("weight_norm over this dimension is counted as over the first")
	}
	return v.WeightNorm(g).Hold()
}

// normExceptDim implements torch.norm_except_dim(v, pow, dim) in host memory; on the card, its result is a new tensor.
func normExceptDim(in *interpreter, a arguments) value {
	dim, ok := a.or(2, "dim", 0).(int)
	size := sizeOfTensor(a.or(0, "v", nil))
	if !ok || size == nil {
		return unknown{}
	}
	out := make(sizeValue, len(size))
	for i := range out {
		out[i] = 1
	}
	if dim >= 0 && dim < len(size) {
		out[dim] = size[dim]
	}
	if dim < 0 {
		out = sizeValue{}
	}
	switch v := a.or(0, "v", nil).(type) {
	case *hostTensor:
		return &hostTensor{size: out, dtype: v.dtype}
	case *shadow.Tensor:
		if v.Here() {
			return in.World.Empty(shadow.Dims(out...), v.DType()).Hold()
		}
		return &hostTensor{size: out, dtype: v.DType()}
	}
	return unknown{}
}

// sizeOfTensor returns the shape of a tensor, or nil if v is none.
func sizeOfTensor(v value) []int {
	switch v := v.(type) {
	case *hostTensor:
		return slices.Clone(v.size)
	case *shadow.Tensor:
		return sizeOf(v)
	}
	return nil
}
