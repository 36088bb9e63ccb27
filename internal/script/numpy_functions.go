// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math"

	"snug/internal/shadow"
)

// NumPy's functions that compute have the shapes of torch's, with other names for some arguments.

func registerNumPyFunctions() {
	for _, name := range []string{"sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "log1p", "expm1", "floor", "ceil", "square", "abs", "sign", "round"} {
		natives["numpy."+name] = elementwise(name)
	}
	for name, torch := range map[string]string{
		"einsum": "einsum", "outer": "outer", "where": "where", "sum": "sum", "mean": "mean", "std": "std", "var": "var", "prod": "prod", "max": "amax", "min": "amin", "amax": "amax",
		"amin": "amin", "argmax": "argmax", "argmin": "argmin", "cumsum": "cumsum", "sort": "sort", "argsort": "argsort", "transpose": "permute", "reshape": "reshape", "expand_dims": "unsqueeze",
		"squeeze": "squeeze", "repeat": "repeat_interleave", "matmul": "matmul", "dot": "matmul", "tril": "tril", "triu": "triu", "clip": "clamp", "maximum": "maximum", "minimum": "minimum",
		"power": "pow", "isnan": "isnan", "concat": "cat", "zeros_like": "zeros_like", "ones_like": "ones_like", "eye": "eye",
		"full_like": "full_like", "empty_like": "empty_like", "flip": "flip", "roll": "roll", "tile": "tile", "moveaxis": "movedim", "swapaxes": "transpose", "ravel": "flatten",
		"broadcast_to": "broadcast_to", "absolute": "abs", "isfinite": "isfinite", "isinf": "isinf", "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div",
		"logical_and": "logical_and", "logical_or": "logical_or", "logical_not": "logical_not", "diag": "diag",
	} {
		if natives["numpy."+name] == nil {
			natives["numpy."+name] = asTorch(torch)
		}
	}
	natives["numpy.meshgrid"] = arrayGrid
	constants["numpy.newaxis"] = nil
	constants["numpy.pi"], constants["numpy.e"], constants["numpy.inf"] = math.Pi, math.E, math.Inf(1)
}

// asTorch calls a function of torch with NumPy's arguments, if an array is among them.
func asTorch(name string) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		if !hostOnly(append(append([]value(nil), a.pos...), a.named...)...) {
			return unknown{}
		}
		out := arguments{pos: a.pos, named: a.named}
		for _, n := range a.names {
			switch n {
			case "axis":
				n = "dim"
			case "keepdims":
				n = "keepdim"
			}
			out.names = append(out.names, n)
		}
		v, _ := in.hostFunction("torch."+name, out)
		if h, ok := v.(*hostTensor); ok {
			return h
		}
		if l, ok := v.(*dict); ok && l.record { // NumPy's sort returns only the values
			v, _ = l.get("values")
			return hold(v)
		}
		return unknown{}
	}
}

// elementwise calls a function of one argument, which may be a number.
func elementwise(name string) func(*interpreter, arguments) value {
	tensor := asTorch(name)
	return func(in *interpreter, a arguments) value {
		x := a.or(0, "x", nil)
		if _, ok := number(x); ok {
			if f := natives["math."+name]; f != nil {
				return f(in, a)
			}
			return unknown{}
		}
		v := tensor(in, a)
		if h, ok := v.(*hostTensor); ok {
			if from, ok := x.(*hostTensor); ok && h.dtype.Floating() && !from.dtype.Floating() {
				h.dtype = shadow.Float64
			}
		}
		return v
	}
}

// arrayGrid implements numpy.meshgrid(x, y, …), whose first two dimensions are exchanged by default.
func arrayGrid(in *interpreter, a arguments) value {
	return meshgrid(in, arguments{pos: a.pos, names: []string{"indexing"}, named: []value{a.or(-1, "indexing", "xy")}})
}
