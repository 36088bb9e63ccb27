// SPDX-License-Identifier: Apache-2.0

package family

import (
	"math"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// tuneRope is one of torchtune's rotary embeddings (0.6.1), with a table for all positions:
// RotaryPositionalEmbeddings (modules/position_embeddings.py), Llama3ScaledRoPE
// (models/llama3_1/_position_embeddings.py), Qwen2RotaryPositionalEmbeddings
// (models/qwen2/_positional_embeddings.py).
type tuneRope struct {
	b            *nn.Builder
	dim, length  int
	base         float64
	scaled       bool           // Llama3ScaledRoPE
	halves       bool           // Qwen2's version, which rotates the halves of a head in the model's type
	theta, cache *shadow.Tensor // buffers
}

func newTuneRope(b *nn.Builder, c *Config, dim int) *tuneRope {
	r := &tuneRope{b: b, dim: dim, length: c.Positive(maxPositions, 4096), scaled: c.ropeType() == "llama3", halves: c.ModelType() == "qwen2"}
	r.base = c.Float("rope_theta", 10000)
	if base, ok := c.ropeKey("rope_theta").(float64); ok {
		r.base = base
	}
	r.init()
	return r
}

// init is rope_init.
func (r *tuneRope) init() {
	w := r.b.W
	fn := w.Func()
	theta := fn.Let(quotient(w.Arange(r.dim / 2).Float().DivScalar().ScalarPow()))
	if r.scaled {
		theta = r.scale(theta)
	}
	r.register(&r.theta, theta)
	r.build()
	fn.Return(nil)
}

// quotient is number / t: Tensor.__rdiv__, which is t.reciprocal() * number.
func quotient(t *shadow.Tensor) *shadow.Tensor {
	fn := t.World().Func(t)
	return fn.Return(t.MulScalar().MulScalar())
}

// register is register_buffer, replacing any existing buffer.
func (r *tuneRope) register(at **shadow.Tensor, t *shadow.Tensor) {
	old := *at
	*at = r.b.Register(t)
	old.Drop()
}

// build is build_rope_cache.
func (r *tuneRope) build() {
	w := r.b.W
	fn := w.Func()
	index := fn.Let(w.Full(shadow.Float32, r.length))
	angles := fn.Let(index.Unsqueeze(1).Mul(r.theta.Unsqueeze(0)))
	if r.halves {
		angles = fn.Let(shadow.Cat(-1, angles, angles))
		r.register(&r.cache, listed(-1, shadow.Cat, angles.Cos(), angles.Sin()))
	} else {
		r.register(&r.cache, listed(-1, shadow.Stack, angles.Cos(), angles.Sin()))
	}
	fn.Return(nil)
}

// listed joins two tensors in a list; Python drops a list's items from the end.
func listed(dim int, join func(int, ...*shadow.Tensor) *shadow.Tensor, first, second *shadow.Tensor) *shadow.Tensor {
	first.Hold()
	second.Hold()
	out := join(dim, first, second)
	second.Drop()
	first.Drop()
	return out
}

// scale is apply_scaling. It processes one frequency at a time, with a comparison that decides how to scale it.
func (r *tuneRope) scale(freqs *shadow.Tensor) *shadow.Tensor {
	const short, long = 8192.0 / 4, 8192.0 // wavelengths
	w := r.b.W
	fn := w.Func(freqs)
	var wavelen, smooth *shadow.Tensor
	for i := range r.dim / 2 {
		length := 2 * math.Pi * math.Pow(r.base, float64(2*i)/float64(r.dim))
		freq := freqs.Select(0, i).Hold()
		fn.Set(&wavelen, quotient(freq))
		shadow.Item(wavelen.Compare("lt"))
		if length >= short {
			shadow.Item(wavelen.Compare("gt"))
		}
		switch {
		case length > long:
			fn.Let(freq.DivScalar())
		case length >= short:
			fn.Set(&smooth, quotient(wavelen).AddScalar().DivScalar())
			fn.Let(smooth.RSubScalar().Mul(freq).DivScalar().Add(smooth.Mul(freq)))
		}
		freq.Drop()
	}
	return fn.Return(w.Full(shadow.Float32, r.dim/2))
}

// rotate is the rotary embedding's forward, for x (B, S, H, D).
func (m *tuneDecoder) rotate(x *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(x)
	table := fn.Let(m.rope.rows(x.Size(1), m.packed.positions))
	if m.rope.halves {
		return fn.Return(rotateHalves(fn, x, table))
	}
	return fn.Return(rotatePairs(fn, x, table))
}

// rows returns the table's rows for a batch's tokens: the first seq rows, or those at positions if it is not nil.
func (r *tuneRope) rows(seq int, positions *shadow.Tensor) *shadow.Tensor {
	if positions == nil {
		return r.cache.Slice(0, 0, seq).Unsqueeze(0)
	}
	return r.cache.IndexAt(0, positions)
}

// rotatePairs rotates pairs of neighboring elements in float32.
func rotatePairs(fn *shadow.Frame, x, table *shadow.Tensor) *shadow.Tensor {
	B, S, H, D := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	pairs := fn.Let(x.Float().Reshape(B, S, H, D/2, 2))
	rows := fn.Let(table.View(-1, S, 1, D/2, 2))
	times := func(i, j int) *shadow.Tensor { return pairs.Select(-1, i).Mul(rows.Select(-1, j)) }
	first := times(0, 0).Sub(times(1, 1))
	second := times(1, 0).Add(times(0, 1))
	out := fn.Let(listed(-1, shadow.Stack, first, second))
	fn.Set(&out, out.View(B, S, H, D))
	return out.To(x.DType())
}

// rotateHalves rotates one half of a head against the other.
func rotateHalves(fn *shadow.Frame, x, table *shadow.Tensor) *shadow.Tensor {
	S, D := x.Size(1), x.Size(3)
	fn.Set(&table, table.View(-1, S, 1, 2*D))
	cos := fn.Let(table.Slice(-1, 0, D).To(x.DType()))
	sin := fn.Let(table.Slice(-1, D, 2*D).To(x.DType()))
	x1 := fn.Let(x.Slice(-1, 0, D/2))
	x2 := fn.Let(x.Slice(-1, D/2, D))
	rotated := fn.Let(shadow.Cat(-1, x2.Neg(), x1))
	return fn.Let(x.Mul(cos).Add(rotated.Mul(sin)))
}
