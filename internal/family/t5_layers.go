// SPDX-License-Identifier: Apache-2.0

package family

import (
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// clampHalf is the guard against infinities in float16.
func clampHalf(hidden *shadow.Tensor) *shadow.Tensor {
	if hidden.DType() != shadow.Float16 {
		return hidden
	}
	return hidden.ClampInfinities()
}

// t5LayerNorm is T5LayerNorm, which has no bias and subtracts no mean.
type t5LayerNorm struct {
	shadow.Path
	weight *shadow.Tensor
}

func newT5LayerNorm(b *nn.Builder, at string, width int) *t5LayerNorm {
	return &t5LayerNorm{Path: shadow.Path(at), weight: b.Parameter(at+".weight", width)}
}

func (n *t5LayerNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

// Forward is T5LayerNorm.forward.
func (n *t5LayerNorm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	variance := fn.Let(hidden.To(shadow.Float32).Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Mul(variance.AddScalar().Rsqrt()))
	if n.weight.DType().Half() {
		fn.Set(&hidden, hidden.To(n.weight.DType()))
	}
	return n.weight.Mul(hidden)
}

// t5FF is T5LayerFF with either kind of dense layer.
type t5FF struct {
	shadow.Path
	wi, wi1, wo *nn.Linear
	norm        *t5LayerNorm
	dropout     nn.Dropout
	act         func(x *shadow.Tensor) *shadow.Tensor
}

func newT5FF(b *nn.Builder, c *Config, at string, dropout nn.Dropout) *t5FF {
	width, inner := c.Positive("d_model", 512), c.Positive("d_ff", 2048)
	proj := c.String("feed_forward_proj", "relu")
	f := &t5FF{Path: shadow.Path(at), dropout: dropout, act: c.t5Activation(proj)}
	if strings.HasPrefix(proj, "gated-") {
		f.wi = b.Linear(at+".DenseReluDense.wi_0", width, inner, false)
		f.wi1 = b.Linear(at+".DenseReluDense.wi_1", width, inner, false)
	} else {
		f.wi = b.Linear(at+".DenseReluDense.wi", width, inner, false)
	}
	f.wo = b.Linear(at+".DenseReluDense.wo", inner, width, false)
	f.norm = newT5LayerNorm(b, at+".layer_norm", width)
	return f
}

// t5Activation returns the function named by feed_forward_proj.
func (c *Config) t5Activation(proj string) func(x *shadow.Tensor) *shadow.Tensor {
	switch strings.TrimPrefix(proj, "gated-") {
	case "relu":
		return (*shadow.Tensor).ReLU
	case "silu", "swish":
		return (*shadow.Tensor).SiLU
	case "gelu":
		if proj == "gated-gelu" {
			return newGELU
		}
		return (*shadow.Tensor).GELU
	}
	c.fail("feed_forward_proj", "relu, gelu or silu, optionally with the prefix gated-")
	return (*shadow.Tensor).ReLU
}

// Forward is T5LayerFF.forward.
func (f *t5FF) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	forwarded := fn.Let(f.norm.Call(hidden))
	fn.Set(&forwarded, f.dense(forwarded))
	fn.Set(&hidden, hidden.Add(f.dropout.Call(forwarded)))
	return hidden
}

// dense is T5DenseActDense.forward or T5DenseGatedActDense.forward.
func (f *t5FF) dense(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	hidden := fn.Let(x)
	if f.wi1 == nil {
		fn.Set(&hidden, f.wi.Call(hidden))
		fn.Set(&hidden, f.act(hidden))
	} else {
		gelu := fn.Let(f.act(f.wi.Call(hidden)))
		linear := fn.Let(f.wi1.Call(hidden))
		fn.Set(&hidden, gelu.Mul(linear))
	}
	fn.Set(&hidden, f.dropout.Call(hidden))
	fn.Set(&hidden, hidden.To(f.wo.Weight.DType()))
	fn.Set(&hidden, f.wo.Call(hidden))
	return fn.Return(hidden)
}
