// SPDX-License-Identifier: Apache-2.0

package family

import (
	"maps"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// activation is an entry of ACT2FN (transformers/activations.py).
type activation = func(x *shadow.Tensor) *shadow.Tensor

// activations maps names to single PyTorch ops and to functions composed in Python, which save more tensors for
// backward.
var activations = map[string]activation{
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

// activation returns the function named by a config key.
func (c *Config) activation(key, def string) activation {
	act := activations[c.String(key, def)]
	if act == nil {
		c.fail(key, "one of "+strings.Join(slices.Sorted(maps.Keys(activations)), ", "))
		return activations[def]
	}
	return act
}

// newGELU is 0.5 * x * (1 + tanh(c * (x + 0.044715 * x³))).
func newGELU(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	half := x.MulScalar()
	return fn.Return(half.Mul(x.Add(x.Pow().MulScalar()).MulScalar().Tanh().AddScalar()))
}

// fastGELU is 0.5 * x * (1 + tanh(x * c * (1 + 0.044715 * x * x))).
func fastGELU(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	half, scaled := x.MulScalar(), x.MulScalar()
	return fn.Return(half.Mul(scaled.Mul(x.MulScalar().Mul(x).AddScalar()).Tanh().AddScalar()))
}

// quickGELU is x * sigmoid(1.702 * x).
func quickGELU(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	return fn.Return(x.Mul(x.MulScalar().Sigmoid()))
}

// reluSquared is torch.square(relu(x)), which is pow.
func reluSquared(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	relu := fn.Let(x.ReLU())
	return fn.Return(relu.Pow())
}
