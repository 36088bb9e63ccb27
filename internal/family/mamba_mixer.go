// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// mambaMixer is MambaMixer. I is its inner width, N the state size.
type mambaMixer struct {
	shadow.Path
	m                              *mamba
	inner, state, rank             int
	convWeight, convBias           *shadow.Tensor // (I, 1, K), (I,)
	aLog, d                        *shadow.Tensor // (I, N), (I,)
	inProj, xProj, dtProj, outProj *nn.Linear
	act                            activation
}

func newMambaMixer(b *nn.Builder, c *Config, m *mamba, at string, hidden, rank int) *mambaMixer {
	inner := int(c.Float("expand", 2) * float64(hidden))
	x := &mambaMixer{Path: shadow.Path(at), m: m, inner: max(inner, 1), state: c.Positive("state_size", 16), rank: rank}
	bias := c.Bool("use_bias", false)
	x.act = c.activation("hidden_act", "silu")
	x.convWeight = b.Parameter(at+".conv1d.weight", x.inner, 1, c.Positive("conv_kernel", 4))
	if c.Bool("use_conv_bias", true) {
		x.convBias = b.Parameter(at+".conv1d.bias", x.inner)
	}
	x.inProj = b.Linear(at+".in_proj", hidden, 2*x.inner, bias)
	x.xProj = b.Linear(at+".x_proj", x.inner, rank+2*x.state, false)
	x.dtProj = b.Linear(at+".dt_proj", rank, x.inner, true)
	x.aLog = b.Parameter(at+".A_log", x.inner, x.state)
	x.d = b.Parameter(at+".D", x.inner)
	x.outProj = b.Linear(at+".out_proj", x.inner, hidden, bias)
	return x
}

// initWeights is init_mamba_weights.
func (x *mambaMixer) initWeights() {
	w := x.m.w
	fn := w.Func()
	a := fn.Let(w.Full(shadow.Float32, x.state).Unsqueeze(0).Expand(x.inner, -1).Contiguous())
	shadow.Item(a.LogPlain())
	initTimeStep(fn, w, x.inner)
	fn.Return(nil)
}

// Forward is MambaMixer.forward.
func (x *mambaMixer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	fn.Set(&hidden, maskPadding(hidden, x.m.mask))
	projected := fn.Let(x.inProj.Call(hidden).Transpose(1, 2)) // (B, 2I, S)
	a := fn.Let(x.aLog.Float().Exp().Neg())                    // (I, N)
	x.fusedArguments()
	halves := projected.Chunk(2, 1)
	states, gate := fn.Let(halves[0]), fn.Let(halves[1]) // (B, I, S)

	fn.Set(&states, causalConv(states, x.convWeight, x.convBias, x.act))
	fn.Set(&states, maskPadding(states.Transpose(1, 2), x.m.mask)) // (B, S, I)
	parts := x.xProj.Call(states).Split(-1, x.rank, x.state, x.state)
	step, b, c := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2]) // (B, S, ·)
	fn.Set(&step, x.dtProj.Weight.Matmul(step.Transpose(1, 2)))        // (B, I, S)
	bias := fn.Let(x.dtProj.Bias.Float())
	out := fn.Let(selectiveScan(states.Transpose(1, 2), step, a, b.Transpose(1, 2), c.Transpose(1, 2), x.d.Float(), gate, bias))
	return x.outProj.Call(out.Transpose(1, 2).To(dtype))
}

// fusedArguments casts the fused kernel's arguments, as transformers does before it finds that the kernel is not
// installed.
func (x *mambaMixer) fusedArguments() {
	fn := x.m.w.Func()
	if x.outProj.Bias != nil {
		fn.Let(x.outProj.Bias.Float())
	}
	fn.Let(x.d.Float())
	fn.Let(x.dtProj.Bias.Float())
	fn.Return(nil)
}

// selectiveScan is mamba_selective_scan: hidden, dt and z are (B, I, S), b and c
// (B, N, S). Each token's state is computed from the previous one.
func selectiveScan(hidden, dt, a, b, c, d, z, bias *shadow.Tensor) *shadow.Tensor {
	w, dtype := hidden.World(), hidden.DType()
	fn := w.Func(hidden, dt, a, b, c, d, z, bias)
	B, I, S := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	fn.Set(&dt, dt.Add(bias.To(dt.DType()).Unsqueeze(-1)))
	fn.Set(&dt, dt.Softplus())
	fn.Set(&b, b.Transpose(1, 2)) // (B, S, N)
	fn.Set(&c, c.Transpose(1, 2))
	discreteA := fn.Let(a.Unsqueeze(0).Unsqueeze(2).Mul(dt.Unsqueeze(3)).Exp()) // (B, I, S, N)
	discreteB := fn.Let(dt.Unsqueeze(3).Mul(b.Unsqueeze(1).Float()))
	deltaBu := fn.Let(discreteB.Mul(hidden.Unsqueeze(3).Float()))
	state := fn.Let(w.Full(dtype, B, I, a.Size(-1))) // (B, I, N)
	var out *shadow.Tensor
	fn.Set(&out, nil)
	var outs []*shadow.Tensor
	for i := range w.Iterations(S) {
		fn.Set(&state, discreteA.Select(2, i).Mul(state).Add(deltaBu.Select(2, i)))
		fn.Set(&out, state.To(dtype).Matmul(c.Select(1, i).Unsqueeze(-1))) // (B, I, 1)
		outs = append(outs, fn.Let(out.Select(2, 0)))
	}
	fn.Set(&out, shadow.Stack(-1, outs...)) // (B, I, S)
	fn.Set(&out, out.Add(hidden.Mul(d.Unsqueeze(0).Unsqueeze(2))))
	fn.Set(&out, out.Mul(z.SiLU()))
	return fn.Return(out)
}
