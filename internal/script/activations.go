// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// torch.nn.functional's activations, and their variants in place. Those that are compositions of other functions are in
// site-packages/torch_nn_functional.py.

func registerActivations() {
	for name, inPlace := range map[string]func(*shadow.Tensor, string) *shadow.Tensor{
		"leaky_relu": (*shadow.Tensor).ActivationInPlace, "elu": (*shadow.Tensor).ActivationInPlace, "selu": (*shadow.Tensor).ActivationInPlace,
		"celu": (*shadow.Tensor).ActivationInPlace, "hardtanh": (*shadow.Tensor).ActivationInPlace, "relu6": (*shadow.Tensor).ActivationInPlace,
		"silu": (*shadow.Tensor).ActivationOverCopy, "mish": (*shadow.Tensor).ActivationOverCopy, "hardswish": (*shadow.Tensor).ActivationOverCopy,
		"hardsigmoid": (*shadow.Tensor).ActivationOverCopy, "threshold": (*shadow.Tensor).ActivationOverCopy,
		"softshrink": nil, "hardshrink": nil,
	} {
		natives["torch.nn.functional."+name] = activating(name, inPlace)
	}
	for _, name := range []string{"leaky_relu", "elu", "selu", "celu", "hardtanh", "threshold", "relu"} { // such as F.elu_
		natives["torch.nn.functional."+name+"_"] = inPlaceOf(natives["torch.nn.functional."+name])
	}
	natives["torch.nn.functional.glu"] = glu
	natives["torch.nn.functional.prelu"] = prelu
	natives["torch.prelu"] = prelu
}

// activating implements an activation that keeps its input, with its inplace argument.
func activating(op string, inPlace func(*shadow.Tensor, string) *shadow.Tensor) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		x, ok := card(a, 0, "input")
		if !ok {
			return hold(a.or(0, "input", unknown{}))
		}
		if on, _ := a.or(-1, "inplace", false).(bool); on && inPlace != nil {
			return inPlace(x, op).Hold()
		}
		return x.Activation(op).Hold()
	}
}

// glu implements F.glu(input, dim).
func glu(_ *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	dim, known := a.or(1, "dim", -1).(int)
	if !ok || !known {
		return unknown{}
	}
	return x.GLU(dim).Hold()
}

// prelu implements F.prelu(input, weight).
func prelu(_ *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	weight, okW := card(a, 1, "weight")
	if !ok || !okW {
		return unknown{}
	}
	return x.PReLU(weight).Hold()
}

// activated implements an activation in place that keeps its result, as a tensor's method.
func activated(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.ActivationInPlace(op).Hold() }
}

// inPlaceOf implements a function such as F.elu_ with the one that has the argument inplace.
func inPlaceOf(f func(*interpreter, arguments) value) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		return f(in, arguments{pos: a.pos[:min(1, len(a.pos))], names: append(a.names[:len(a.names):len(a.names)], "inplace"), named: append(a.named[:len(a.named):len(a.named)], true)})
	}
}
