// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Falcon: transformers/models/falcon/modeling_falcon.py. Its generations differ: one key-value head (7B) or
// groups (40B, 11B), attention and MLP in parallel or in sequence (RW), rotary positions or a bias on the scores
// (RW).

type falcon struct {
	net
	embed  *nn.Embedding
	h      []*falconLayer
	lnF    *nn.LayerNorm
	rotary *rotary
	heads  int
	biased bool           // positions are a bias
	alibi  *shadow.Tensor // for the current forward, like mask
	mask   *shadow.Tensor
	head   *causalHead
}

func newFalcon(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Attention == "flash" {
		return nil, refuse("attention", "flash attention is not simulated for falcon; use sdpa")
	}
	c.alias("hidden_size", "n_embed")
	c.alias("num_hidden_layers", "n_layer")
	c.alias("num_attention_heads", "n_head")
	c.alias("num_kv_heads", "n_head_kv")
	hidden := c.Positive("hidden_size", 4544)
	m := &falcon{net: net{b.W, run}, heads: c.Positive("num_attention_heads", 71), biased: c.Bool("alibi", false)}
	m.embed = b.Embedding("transformer.word_embeddings", c.Positive("vocab_size", 65024), hidden)
	for i := range c.Int("num_hidden_layers", 32) {
		m.h = append(m.h, newFalconLayer(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	m.rotary = newRotary(b, c, c.HeadDim(hidden, m.heads), c.ropeType())
	m.head = newCausalHead(b, c, run, hidden, m.embed, true)
	return m, nil
}

func (m *falcon) Batch() Batch { return m.textBatch() }

// Loss is FalconForCausalLM.forward.
func (m *falcon) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is FalconModel.forward.
func (m *falcon) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	m.alibi = nil
	if m.biased {
		mask := b.Mask
		if mask == nil {
			mask = m.w.Full(shadow.Int64, m.run.Batch, m.run.Seq)
		}
		fn.Let(mask)
		fn.Set(&m.alibi, alibi(mask, m.heads, embeds.DType(), shadow.BFloat16))
	}
	pos := positions(fn, m.w, m.run.Seq)
	fn.Set(&m.mask, m.wholeMask(embeds, b.Mask))
	if m.biased {
		m.addAlibi(fn, embeds.DType())
	}
	hidden := fn.Let(embeds)
	m.rotary.cos, m.rotary.sin = fn.Let2(m.rotary.forward(hidden, pos))
	var outputs [2]*shadow.Tensor
	for _, block := range m.h {
		out, weights := m.layerWeights(block, hidden, m.mask, pos, m.alibi, m.rotary.cos, m.rotary.sin)
		fn.Set2(&outputs[0], out, &outputs[1], weights)
		fn.Set(&hidden, out)
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	return fn.Return(hidden)
}

// wholeMask is create_causal_mask with allow_is_causal_skip=False, so the mask is never skipped.
func (m *falcon) wholeMask(embeds, mask *shadow.Tensor) *shadow.Tensor {
	if m.run.Attention == "eager" {
		return m.causalMask(embeds, mask, nil, 0)
	}
	fn := m.w.Func(embeds, mask)
	if mask != nil {
		fn.Set(&mask, mask.To(shadow.Bool))
	}
	return fn.Return(m.boolMask(embeds, mask, 0))
}

// addAlibi combines the bias with the mask, which becomes (B, H, S, S). The variables belong to the forward's
// frame.
func (m *falcon) addAlibi(fn *shadow.Frame, dtype shadow.DType) {
	if m.mask.DType() == shadow.Bool {
		fn.Set(&m.mask, m.floatMask(dtype, m.mask))
	}
	fn.Set(&m.alibi, m.alibi.Reshape(m.run.Batch, -1, 1, m.run.Seq))
	fn.Set(&m.mask, m.alibi.DivScalar().MaskedFill(m.mask.Compare("lt")))
}

type falconLayer struct {
	shadow.Path
	attn        *falconAttention
	mlp         *falconMLP
	input, post *nn.LayerNorm // post is nil if attention and MLP are parallel
	mlpNorm     *nn.LayerNorm // ln_mlp, next to ln_attn, in the new architecture
	drop        nn.Dropout
	attnDrop    nn.Dropout
	parallel    bool
}

func newFalconLayer(b *nn.Builder, c *Config, m *falcon, at string, hidden int) *falconLayer {
	young := c.Bool("new_decoder_architecture", false)
	l := &falconLayer{Path: shadow.Path(at), parallel: c.Bool("parallel_attn", true) || young}
	l.drop, l.attnDrop = nn.Dropout(c.Float("hidden_dropout", 0)), nn.Dropout(c.Float("attention_dropout", 0))
	l.attn = newFalconAttention(b, c, m, at+".self_attention", hidden)
	bias, inner := c.Bool("bias", false), c.Positive("ffn_hidden_size", 4*hidden)
	l.mlp = &falconMLP{
		Path: shadow.Path(at + ".mlp"), act: c.activation("activation", "gelu"),
		up:   unfusedLinear(b, at+".mlp.dense_h_to_4h", hidden, inner, bias),
		down: unfusedLinear(b, at+".mlp.dense_4h_to_h", inner, hidden, bias),
	}
	switch {
	case !c.Bool("parallel_attn", true):
		l.post = b.LayerNorm(at+".post_attention_layernorm", hidden, true)
		l.input = b.LayerNorm(at+".input_layernorm", hidden, true)
	case young && c.Int("num_ln_in_parallel_attn", 2) == 2:
		l.input = b.LayerNorm(at+".ln_attn", hidden, true)
		l.mlpNorm = b.LayerNorm(at+".ln_mlp", hidden, true)
	default:
		l.input = b.LayerNorm(at+".input_layernorm", hidden, true)
	}
	return l
}

// unfusedLinear makes a FalconLinear.
func unfusedLinear(b *nn.Builder, at string, in, out int, bias bool) *nn.Linear {
	l := b.Linear(at, in, out, bias)
	l.Unfused = true
	return l
}

func (l *falconLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	residual := fn.Let(hidden)
	attnNormed := fn.Let(l.input.Call(hidden))
	mlpNormed := attnNormed
	if l.mlpNorm != nil {
		mlpNormed = fn.Let(l.mlpNorm.Call(hidden))
	}
	attended, weights := fn.Let2(w.Call2(l.attn, attnNormed))
	if l.post != nil && !l.parallel {
		fn.Set(&residual, dropoutAdd(attended, residual, l.attnDrop))
		mlpNormed = fn.Let(l.post.Call(residual))
	}
	feed := fn.Let(w.Call(l.mlp, mlpNormed))
	if l.parallel {
		feed.AddInto(attended)
	}
	return fn.Let(dropoutAdd(feed, residual, l.drop)), weights
}

type falconAttention struct {
	shadow.Path
	m          *falcon
	qkv, dense *nn.Linear
	headDim    int
	kv         int  // key-value heads in qkv
	grouped    bool // the new architecture: each key-value head is repeated for its group of query heads
	drop       nn.Dropout
}

func newFalconAttention(b *nn.Builder, c *Config, m *falcon, at string, hidden int) *falconAttention {
	a := &falconAttention{Path: shadow.Path(at), m: m, headDim: c.HeadDim(hidden, m.heads), kv: c.Positive("num_kv_heads", m.heads)}
	a.drop = nn.Dropout(c.Float("attention_dropout", 0))
	switch {
	case c.Bool("new_decoder_architecture", false):
		a.grouped = true
	case c.Bool("multi_query", true):
		a.kv = 1
	default:
		a.kv = m.heads
	}
	bias := c.Bool("bias", false)
	a.qkv = unfusedLinear(b, at+".query_key_value", hidden, (m.heads+2*a.kv)*a.headDim, bias)
	a.dense = unfusedLinear(b, at+".dense", hidden, hidden, bias)
	return a
}

func (a *falconAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, D := hidden.Size(0), hidden.Size(1), a.headDim
	fused := fn.Let(a.qkv.Call(hidden))
	query, key, value := a.split(fused) // (B, S, heads, D)
	fn.Let(query)
	fn.Let(key)
	fn.Let(value)
	for _, x := range []**shadow.Tensor{&query, &key, &value} {
		fn.Set(x, (*x).Transpose(1, 2).Reshape(B, (*x).Size(2), S, D)) // (B, heads, S, D)
	}
	if a.m.alibi == nil {
		q, k := applyRotary(query, key, a.m.rotary.cos, a.m.rotary.sin)
		fn.Set2(&query, q, &key, k)
	}
	a.m.cached(fn, &key, &value, 0)
	switch {
	case a.m.run.Attention != "eager":
		return a.fused(fn, query, key, value), nil
	case a.m.alibi == nil:
		return a.eager(fn, query, key, value, hidden.DType())
	}
	return a.eagerAlibi(fn, query, key, value, hidden.DType())
}

// split is _split_heads.
func (a *falconAttention) split(fused *shadow.Tensor) (query, key, value *shadow.Tensor) {
	B, S, D, w := fused.Size(0), fused.Size(1), a.headDim, fused.World()
	fn := w.Func(fused)
	last := func() *shadow.Tensor { return w.Empty(shadow.Dims(1), shadow.Int64) } // a list as an index
	switch {
	case a.grouped:
		each := a.m.heads/a.kv + 2
		qkv := fn.Let(fused.View(B, S, -1, each, D))
		query = fn.Let(qkv.Slice(3, 0, each-2)) // (B, S, kv, H/kv, D)
		key = fn.Let(qkv.IndexAt(3, last()))    // (B, S, kv, 1, D)
		value = fn.Let(qkv.IndexAt(3, last()))
		fn.Set(&key, key.ExpandAs(query.Shape()))
		fn.Set(&value, value.ExpandAs(query.Shape()))
		flat := func(x *shadow.Tensor) *shadow.Tensor { return x.Reshape(B, S, a.m.heads, D) }
		return fn.Return3(fn.Let(flat(query)), fn.Let(flat(key)), fn.Let(flat(value)))
	case a.kv > 1:
		fn.Set(&fused, fused.View(B, S, a.m.heads, 3, D))
		return fn.Return3(fn.Let(fused.Select(3, 0)), fn.Let(fused.Select(3, 1)), fn.Let(fused.Select(3, 2)))
	}
	fn.Set(&fused, fused.View(B, S, a.m.heads+2, D))
	query = fn.Let(fused.Slice(2, 0, a.m.heads))
	return fn.Return3(query, fn.Let(fused.IndexAt(2, last())), fn.Let(fused.IndexAt(2, last())))
}

// fused is scaled_dot_product_attention and the output layer. Without a bias it has no dropout.
func (a *falconAttention) fused(fn *shadow.Frame, query, key, value *shadow.Tensor) *shadow.Tensor {
	B, S, D := query.Size(0), query.Size(2), a.headDim
	args := shadow.Attention{Query: query, Key: key, Value: value, Mask: a.m.mask}
	if a.m.alibi != nil {
		args.Dropout = float64(a.drop)
	}
	out := fn.Let(a.m.w.SDPA(args))
	if a.m.alibi == nil {
		fn.Set(&out, out.View(B, a.m.heads, S, D))
		fn.Set(&out, out.Permute(0, 2, 1, 3))
	} else {
		fn.Set(&out, out.Transpose(1, 2))
	}
	fn.Set(&out, out.Reshape(B, S, a.m.heads*D))
	fn.Set(&out, a.dense.Call(out))
	return out
}

// eager is the eager code without a bias.
func (a *falconAttention) eager(fn *shadow.Frame, query, key, value *shadow.Tensor, dtype shadow.DType) (out, scores *shadow.Tensor) {
	B, S, D := query.Size(0), query.Size(2), a.headDim
	scores = fn.Let(query.Matmul(key.Transpose(-1, -2))) // (B, H, S, S)
	scores.MulInto(nil)
	fn.Set(&scores, scores.Add(a.m.mask).Softmax(dtype))
	out = fn.Let(scores.Matmul(value))
	fn.Set(&out, out.View(B, a.m.heads, S, D))
	fn.Set(&out, out.Permute(0, 2, 1, 3))
	fn.Set(&out, out.Reshape(B, S, a.m.heads*D))
	fn.Set(&out, a.dense.Call(out))
	return out, scores
}

// eagerAlibi is the eager code with a bias. The bias is added twice: here, and as part of the mask.
func (a *falconAttention) eagerAlibi(fn *shadow.Frame, query, key, value *shadow.Tensor, dtype shadow.DType) (out, probs *shadow.Tensor) {
	B, H, S := query.Size(0), a.m.heads, query.Size(2)
	product := fn.Let(query.Matmul(key.Transpose(-1, -2)))
	scores := fn.Let(product.View(B, H, S, S))
	if scores.DType().Half() {
		fn.Set(&scores, scores.To(shadow.Float32))
	}
	logits := fn.Let(scores.Add(a.m.alibi.View(B, H, 1, -1)))
	logits.MulInto(nil)
	probs = fn.Let(logits.Add(a.m.mask).Softmax(dtype))
	fn.Set(&probs, a.drop.Call(probs))
	flat := fn.Let(probs.View(B, H, S, S))
	out = fn.Let(flat.Matmul(value).View(B*H, S, a.headDim))
	fn.Set(&out, mergedBatch(out, H))
	fn.Set(&out, a.dense.Call(out))
	return out, probs
}

type falconMLP struct {
	shadow.Path
	up, down *nn.Linear
	act      activation
}

func (m *falconMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fn.Set(&x, m.act(m.up.Call(x)))
	fn.Set(&x, m.down.Call(x))
	return x
}
