// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
)

// activation is an entry of ACT2FN (transformers/activations.py).
type activation string

// The activations that are one op of PyTorch, and those written out in Python,
// which keep more for their backward.
var activations = map[activation]func(x *shadow.Tensor) *shadow.Tensor{
	"silu":              (*shadow.Tensor).SiLU,
	"swish":             (*shadow.Tensor).SiLU,
	"gelu":              (*shadow.Tensor).GELU,
	"gelu_pytorch_tanh": (*shadow.Tensor).GELU,
	"relu":              (*shadow.Tensor).ReLU,
	"tanh":              (*shadow.Tensor).Tanh,
	"sigmoid":           (*shadow.Tensor).Sigmoid,
	"gelu_new":          newGELU,
	"gelu_fast":         fastGELU,
	"quick_gelu":        quickGELU,
	"relu2":             reluSquared,
}

// Activation is the name of an activation function.
func (c *Config) Activation(key, def string) activation {
	a := activation(c.String(key, def))
	if activations[a] == nil && c.err == nil {
		c.err = fmt.Errorf("config key %q is %q, an activation that is not known", key, a)
	}
	return a
}

// call is act(x).
func (a activation) call(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	return fn.Return(activations[a](x))
}

// newGELU is 0.5 * x * (1 + tanh(c * (x + 0.044715 * x³))).
func newGELU(x *shadow.Tensor) *shadow.Tensor {
	half := x.MulScalar()
	return half.Mul(x.Add(x.Pow().MulScalar()).MulScalar().Tanh().AddScalar())
}

// fastGELU is 0.5 * x * (1 + tanh(x * c * (1 + 0.044715 * x * x))).
func fastGELU(x *shadow.Tensor) *shadow.Tensor {
	half, scaled := x.MulScalar(), x.MulScalar()
	return half.Mul(scaled.Mul(x.MulScalar().Mul(x).AddScalar()).Tanh().AddScalar())
}

// quickGELU is x * sigmoid(1.702 * x).
func quickGELU(x *shadow.Tensor) *shadow.Tensor { return x.Mul(x.MulScalar().Sigmoid()) }

// reluSquared is torch.square(relu(x)), which is pow.
func reluSquared(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	r := fn.Let(x.ReLU())
	return fn.Return(r.Pow())
}
