// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Mamba2: transformers/models/mamba2/modeling_mamba2.py, without the fused
// kernels of the mamba-ssm and causal-conv1d packages.

func newMamba2(b *nn.Builder, c *Config, run Run) (Model, error) {
	hidden := c.Positive("hidden_size", 4096)
	heads, dim := c.Positive("num_heads", 128), c.Positive("head_dim", 64)
	inner := int(c.Float("expand", 2) * float64(hidden))
	if inner != heads*dim {
		return nil, fmt.Errorf("mamba2: expand times hidden_size is %d, num_heads times head_dim is %d; they must be equal", inner, heads*dim)
	}
	groups := c.Positive("n_groups", 8)
	if heads%groups != 0 {
		return nil, fmt.Errorf("mamba2: num_heads %d is not divisible by n_groups %d", heads, groups)
	}
	m, err := newMambaLike(b, c, run, hidden, 32768, 64, func(m *mamba, at string) mambaLikeMixer {
		m.maskOfOnes = true
		return newMamba2Mixer(b, c, m, at, hidden, inner, heads, dim, groups)
	})
	return m, err
}

// mamba2Mixer is Mamba2Mixer. I is its inner width, G the number of groups, N the state size.
type mamba2Mixer struct {
	shadow.Path
	m                                *mamba
	inner, heads, dim, groups, state int
	conv, chunk                      int
	convWeight, convBias             *shadow.Tensor // (C, 1, K), (C,) with C = I + 2GN
	dtBias, aLog, d                  *shadow.Tensor // (H,)
	inProj, outProj                  *nn.Linear
	norm                             *gatedNorm
	act                              activation
}

func newMamba2Mixer(b *nn.Builder, c *Config, m *mamba, at string, hidden, inner, heads, dim, groups int) *mamba2Mixer {
	x := &mamba2Mixer{Path: shadow.Path(at), m: m, inner: inner, heads: heads, dim: dim, groups: groups}
	x.state, x.chunk = c.Positive("state_size", 128), c.Positive("chunk_size", 256)
	x.conv = inner + 2*groups*x.state
	bias := c.Bool("use_bias", false)
	x.act = c.activation("hidden_act", "silu")
	x.convWeight = b.Parameter(at+".conv1d.weight", x.conv, 1, c.Positive("conv_kernel", 4))
	if c.Bool("use_conv_bias", true) {
		x.convBias = b.Parameter(at+".conv1d.bias", x.conv)
	}
	x.inProj = b.Linear(at+".in_proj", hidden, inner+x.conv+heads, bias)
	x.dtBias = b.Parameter(at+".dt_bias", heads)
	x.aLog = b.Parameter(at+".A_log", heads)
	x.norm = &gatedNorm{Path: shadow.Path(at + ".norm"), weight: b.Parameter(at+".norm.weight", inner)}
	x.d = b.Parameter(at+".D", heads)
	x.outProj = b.Linear(at+".out_proj", inner, hidden, bias)
	return x
}

// initWeights is init_mamba2_weights.
func (x *mamba2Mixer) initWeights() {
	w := x.m.w
	fn := w.Func()
	a := fn.Let(w.Full(shadow.Float32, x.heads))
	shadow.Item(a.LogPlain())
	initTimeStep(fn, w, x.heads)
	fn.Return(nil)
}

// Forward is Mamba2Mixer.forward.
func (x *mamba2Mixer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S, dtype := hidden.Size(0), hidden.Size(1), hidden.DType()
	fn.Set(&hidden, maskPadding(hidden, x.m.mask))
	projected := fn.Let(x.inProj.Call(hidden)) // (B, S, I + C + H)
	a := fn.Let(x.aLog.Float().Exp().Neg())
	parts := projected.Split(-1, x.inner, x.conv, x.heads)
	gate, mixed, dt := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])
	fn.Set(&mixed, mixed.Transpose(1, 2)) // (B, C, S)
	fn.Set(&mixed, causalConv(mixed, x.convWeight, x.convBias, x.act))
	fn.Set(&mixed, maskPadding(mixed.Transpose(1, 2), x.m.mask))
	parts = mixed.Split(-1, x.inner, x.groups*x.state, x.groups*x.state)
	fn.Set(&hidden, parts[0])
	b, c := fn.Let(parts[1]), fn.Let(parts[2])
	result := fn.Let(x.chunkScan(
		hidden.View(B, S, x.heads, x.dim), dt, a,
		b.View(B, S, x.groups, x.state), c.View(B, S, x.groups, x.state),
	))
	out := fn.Let(result)
	fn.Set(&out, out.Reshape(B, S, -1))
	x.norm.gate = gate
	fn.Set(&out, x.norm.Call(out))
	return x.outProj.Call(out.To(dtype))
}

// gatedNorm is MambaRMSNormGated.
type gatedNorm struct {
	shadow.Path
	weight *shadow.Tensor
	gate   *shadow.Tensor // for the current call
}

func (n *gatedNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

// Forward is MambaRMSNormGated.forward.
func (n *gatedNorm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	fn.Set(&hidden, hidden.To(shadow.Float32))
	fn.Set(&hidden, hidden.Mul(n.gate.To(shadow.Float32).SiLU()))
	variance := fn.Let(hidden.Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Mul(variance.AddScalar().Rsqrt()))
	return n.weight.Mul(hidden.To(dtype))
}
