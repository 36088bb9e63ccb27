// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Gated DeltaNet, the linear attention of Qwen3-Next and Qwen3.5, as transformers computes it without the packages
// flash-linear-attention and causal-conv1d.

const deltaChunk = 64 // tokens in a chunk

// deltaShape holds the sizes of a Gated DeltaNet.
type deltaShape struct {
	keyHeads, valueHeads int
	keyDim, valueDim     int // of a head
	kernel               int // width of the convolution
}

func readDelta(c *Config) deltaShape {
	s := deltaShape{
		keyHeads: c.Positive("linear_num_key_heads", 16), valueHeads: c.Positive("linear_num_value_heads", 32),
		keyDim: c.Positive("linear_key_head_dim", 128), valueDim: c.Positive("linear_value_head_dim", 128),
		kernel: c.Positive("linear_conv_kernel_dim", 4),
	}
	if s.valueHeads%s.keyHeads != 0 {
		c.fail("linear_num_value_heads", "a multiple of linear_num_key_heads")
		s.valueHeads = s.keyHeads
	}
	return s
}

// keys and values are the widths of all heads; mixed is the width of queries, keys and values together.
func (s deltaShape) keys() int   { return s.keyHeads * s.keyDim }
func (s deltaShape) values() int { return s.valueHeads * s.valueDim }
func (s deltaShape) mixed() int  { return 2*s.keys() + s.values() }

// deltaNet is what Qwen3NextGatedDeltaNet and Qwen3_5GatedDeltaNet share: everything after the projections.
type deltaNet struct {
	deltaShape
	conv         *shadow.Tensor // (C, 1, K)
	dtBias, aLog *shadow.Tensor // (Hv)
	norm         *deltaNorm
	out          *nn.Linear
	act          activation
}

// deltaVars are the variables of a forward that are rebound after the projections.
type deltaVars struct {
	query, key, value *shadow.Tensor
	mixed             *shadow.Tensor // (B, C, S)
	z                 *shadow.Tensor // (B, S, Hv, Dv)
}

// mix is the forward from the convolution on, in the module's frame. b and a are (B, S, Hv).
func (d *deltaNet) mix(fn *shadow.Frame, v *deltaVars, b, a *shadow.Tensor) *shadow.Tensor {
	B, S := v.mixed.Size(0), v.mixed.Size(2)
	fn.Set(&v.mixed, d.convolve(v.mixed))
	fn.Set(&v.mixed, v.mixed.Transpose(1, 2))
	parts := v.mixed.Split(2, d.keys(), d.keys(), d.values())
	for i, at := range []**shadow.Tensor{&v.query, &v.key, &v.value} {
		fn.Set(at, parts[i])
	}
	fn.Set(&v.query, v.query.Reshape(B, S, -1, d.keyDim))
	fn.Set(&v.key, v.key.Reshape(B, S, -1, d.keyDim))
	fn.Set(&v.value, v.value.Reshape(B, S, -1, d.valueDim))
	beta := fn.Let(b.Sigmoid())
	decay := d.aLog.Float().Exp().Neg()
	g := fn.Let(decay.Mul(a.Float().Add(d.dtBias).Softplus()))
	if times := d.valueHeads / d.keyHeads; times > 1 {
		fn.Set(&v.query, v.query.RepeatInterleave(times, 2))
		fn.Set(&v.key, v.key.RepeatInterleave(times, 2))
	}
	core := fn.Let(deltaRule(v.query, v.key, v.value, g, beta)) // (B, S, Hv, Dv)
	fn.Set(&core, core.Reshape(-1, d.valueDim))
	fn.Set(&v.z, v.z.Reshape(-1, d.valueDim))
	fn.Set(&core, d.norm.call(core, v.z))
	fn.Set(&core, core.Reshape(B, S, -1))
	return fn.Let(d.out.Call(core))
}

// convolve is causal_conv1d_fn.
func (d *deltaNet) convolve(hidden *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden)
	weight := fn.Let(d.conv.Squeeze(1))
	all := hidden.To(weight.DType()).Conv1dDepthwise(weight.Unsqueeze(1), nil, d.kernel-1)
	out := fn.Let(all.Slice(2, 0, hidden.Size(2)))
	fn.Set(&out, d.act(out))
	return fn.Return(out.To(hidden.DType()))
}

// deltaNorm is Qwen3NextRMSNormGated.
type deltaNorm struct {
	shadow.Path
	weight *shadow.Tensor
	gate   *shadow.Tensor // of the current call
}

func newDeltaNorm(b *nn.Builder, at string, width int) *deltaNorm {
	return &deltaNorm{Path: shadow.Path(at), weight: b.Parameter(at+".weight", width)}
}

func (n *deltaNorm) call(x, gate *shadow.Tensor) *shadow.Tensor {
	n.gate = gate
	return x.World().CallWith(n, x, []*shadow.Tensor{gate})
}

// Forward is the module's forward.
func (n *deltaNorm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	fn.Set(&hidden, hidden.Float())
	variance := fn.Let(hidden.Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Mul(variance.AddScalar().Rsqrt()))
	fn.Set(&hidden, n.weight.Mul(hidden.To(dtype)))
	fn.Set(&hidden, hidden.Mul(n.gate.Float().SiLU()))
	return hidden.To(dtype)
}
