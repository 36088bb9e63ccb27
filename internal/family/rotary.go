// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// rotary is LlamaRotaryEmbedding.
type rotary struct {
	invFreq  *shadow.Tensor
	measures bool           // each forward reads back the largest position and compares it with a length
	dynamic  bool           // each forward compares it with a second length
	single   bool           // cosines and sines remain in float32
	pairs    bool           // two neighboring elements share each frequency, as in Cohere
	complex  bool           // cosines and sines are complex numbers in cos, as in DeepSeek-V2
	half     bool           // the frequencies cover half a head, as in gpt-oss
	cos, sin *shadow.Tensor // for the current forward
}

// newRotary makes the frequencies for heads with dim rotated elements. kind is the type of position scaling.
func newRotary(b *nn.Builder, c *Config, dim int, kind string) *rotary {
	if dim%2 != 0 && c.err == nil {
		c.err = fmt.Errorf("rotary embeddings rotate %d elements of each head; the number must be even", dim)
	}
	dynamic := strings.Contains(kind, "dynamic")
	r := &rotary{measures: dynamic || kind == "longrope", dynamic: dynamic}
	r.invFreq = b.Register(frequencies(b.W, dim))
	b.Register(r.invFreq.Clone()) // original_inv_freq
	frequencies(b.W, dim).Drop()  // _init_weights computes them again
	return r
}

// frequencies is compute_default_rope_parameters: 1 / base ** (arange / dim).
func frequencies(w *shadow.World, dim int) *shadow.Tensor {
	fn := w.Func()
	powers := fn.Let(w.Full(shadow.Float32, (dim+1)/2).DivScalar().ScalarPow())
	return fn.Return(powers.MulScalar().MulScalar())
}

// layerRotary holds a model's rotary embeddings: one shared by all layers, or one for each type of layer. Like
// layerMasks, it is set once per forward.
type layerRotary struct {
	full    *rotary
	sliding *rotary // for the layers with a sliding window
}

// sharedRotary makes one rotary embedding for all layers.
func sharedRotary(b *nn.Builder, c *Config, dim int) layerRotary {
	r := newRotary(b, c, dim, c.ropeType())
	return layerRotary{r, r}
}

// rotaryByType makes a rotary embedding for each type of layer in the model, sorted by the types' names.
func rotaryByType(b *nn.Builder, c *Config, dim int, windows []int) (l layerRotary) {
	if slices.Contains(windows, 0) {
		l.full = newRotary(b, c, dim, c.ropeTypeOf("full_attention"))
	}
	if slices.ContainsFunc(windows, func(w int) bool { return w > 0 }) {
		l.sliding = newRotary(b, c, dim, c.ropeTypeOf("sliding_attention"))
	}
	return l
}

// inFloat32 leaves the cosines and sines in float32.
func (l *layerRotary) inFloat32() {
	for _, r := range []*rotary{l.full, l.sliding} {
		if r != nil {
			r.single = true
		}
	}
}

// create computes the angles of a forward, held by the model's frame. With two types of layers, transformers
// iterates over a set, so their order differs between processes.
func (l *layerRotary) create(fn *shadow.Frame, hidden, pos *shadow.Tensor) {
	for _, r := range slices.Compact([]*rotary{l.full, l.sliding}) {
		if r != nil {
			r.cos, r.sin = fn.Let2(r.forward(hidden, pos))
			hidden.World().Local(&r.cos)
			hidden.World().Local(&r.sin)
		}
	}
}

// of returns the rotary embedding for a layer with this window.
func (l *layerRotary) of(window int) *rotary {
	if window > 0 {
		return l.sliding
	}
	return l.full
}

// ropeKey reads a key of rope_parameters, formerly rope_scaling.
func (c *Config) ropeKey(key string) any {
	for _, name := range []string{"rope_scaling", "rope_parameters"} {
		if m, ok := c.keys[name].(map[string]any); ok && m[key] != nil {
			return m[key]
		}
	}
	return nil
}

// ropeType returns the type of position scaling; only some types need memory.
func (c *Config) ropeType() string {
	kind, ok := c.ropeKey("rope_type").(string)
	if !ok {
		kind, _ = c.ropeKey("type").(string)
	}
	return kind
}

// ropeTypeOf returns the type of position scaling for a type of layer, if each type of layer has its own
// parameters.
func (c *Config) ropeTypeOf(layerType string) string {
	own, ok := c.ropeKey(layerType).(map[string]any)
	if !ok {
		return c.ropeType()
	}
	return NewConfig(map[string]any{"rope_parameters": own}).ropeType()
}

// rotaryDim returns how many elements of a head are rotated, from the fraction in rope_parameters or in a key of
// the config itself.
func (c *Config) rotaryDim(dim int, key string, part float64) int {
	part = c.Float(key, part)
	if f, ok := c.ropeKey("partial_rotary_factor").(float64); ok {
		part = f
	}
	if part <= 0 || part > 1 {
		c.fail(key, "above 0 and at most 1")
		part = 1
	}
	return max(int(float64(dim)*part), 1)
}

// measure is the part of dynamic_rope_update before the forward: it reads back the largest position. Dynamic scaling
// compares it both with the length it has cached and with the original one.
func (r *rotary) measure(pos *shadow.Tensor) {
	fn := pos.World().Func(pos)
	length := fn.Let(pos.Max().AddScalar())
	shadow.Item(length.Compare("gt"))
	if r.dynamic {
		shadow.Item(length.Compare("lt"))
	}
	fn.Return(nil)
}

// forward computes the angles' cosines and sines, outside autocast and without
// a graph.
func (r *rotary) forward(x, pos *shadow.Tensor) (cos, sin *shadow.Tensor) {
	if r.measures {
		r.measure(pos)
	}
	fn := x.World().Func(x, pos)
	defer x.World().NoGrad()()
	dtype := x.DType()
	freq := fn.Let(r.invFreq.Unsqueeze(0).Unsqueeze(2).Expand(pos.Size(0), -1, 1).Float())
	at := fn.Let(pos.Unsqueeze(1).To(shadow.Float32)) // (1, 1, S)
	x.World().Autocast(shadow.None, func() {
		freqs := fn.Let(freq.Matmul(at).Transpose(1, 2)) // (1, S, D/2)
		if r.complex {
			cos = fn.Let(polar(freqs))
			fn.Set(&cos, cos.MulScalar())
			return
		}
		emb := fn.Let(r.twice(freqs))
		cos = fn.Let(emb.Cos().MulScalar())
		sin = fn.Let(emb.Sin().MulScalar())
	})
	if r.single || r.complex {
		return fn.Return2(cos, sin)
	}
	return fn.Return2(cos.To(dtype), sin.To(dtype))
}

// polar is torch.polar(torch.ones_like(angles), angles): complex numbers, with a dimension for their two parts.
func polar(angles *shadow.Tensor) *shadow.Tensor {
	w := angles.World()
	ones := angles.Plain("ones_like", angles.DType()).Hold()
	w.Op("polar")
	out := w.Empty(angles.Shape().Append(2), angles.DType())
	w.Launch(out, angles)
	ones.Drop()
	return out
}

// twice repeats the frequencies to cover all elements of a head.
func (r *rotary) twice(freqs *shadow.Tensor) *shadow.Tensor {
	if r.half {
		return freqs
	}
	if r.pairs {
		return freqs.RepeatInterleave(2, -1)
	}
	return shadow.Cat(-1, freqs, freqs)
}

// rotation is an apply_rotary_pos_emb.
type rotation func(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor)

// applyRotary is apply_rotary_pos_emb.
func applyRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	qe := fn.Let(q.Mul(cos).Add(rotateHalf(q).Mul(sin)))
	ke := fn.Let(k.Mul(cos).Add(rotateHalf(k).Mul(sin)))
	return fn.Return2(qe, ke)
}

// rotateHalf is cat((-x2, x1)).
func rotateHalf(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	d := x.Size(-1)
	x1 := fn.Let(x.Slice(-1, 0, d/2))
	x2 := fn.Let(x.Slice(-1, d/2, d))
	return fn.Return(shadow.Cat(-1, x2.Neg(), x1))
}

// applyPartialRotary is apply_rotary_pos_emb for models that rotate only the first
// elements of each head. late selects GPT-NeoX's order: both rotations before the first cat.
func applyPartialRotary(q, k, cos, sin *shadow.Tensor, late bool) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	d, all := cos.Size(-1), q.Size(-1)
	qRot, qPass := fn.Let(q.Slice(-1, 0, d)), fn.Let(q.Slice(-1, d, all))
	kRot, kPass := fn.Let(k.Slice(-1, 0, d)), fn.Let(k.Slice(-1, d, all))
	rotate := func(x *shadow.Tensor) *shadow.Tensor { return x.Mul(cos).Add(rotateHalf(x).Mul(sin)) }
	if !late {
		qe := fn.Let(shadow.Cat(-1, rotate(qRot), qPass))
		return fn.Return2(qe, fn.Let(shadow.Cat(-1, rotate(kRot), kPass)))
	}
	qe := fn.Let(rotate(qRot))
	ke := fn.Let(rotate(kRot))
	fn.Set(&qe, shadow.Cat(-1, qe, qPass))
	fn.Set(&ke, shadow.Cat(-1, ke, kPass))
	return fn.Return2(qe, ke)
}
