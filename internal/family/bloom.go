// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// BLOOM: transformers/models/bloom/modeling_bloom.py. Positions are a bias on the scores, and attention always
// runs BLOOM's own eager code.

type bloom struct {
	net
	embed     *nn.Embedding
	embedNorm *nn.LayerNorm
	h         []*bloomBlock
	lnF       *nn.LayerNorm
	heads     int
	alibi     *shadow.Tensor // for the current forward, like mask
	mask      *shadow.Tensor
	head      *causalHead
}

func newBloom(b *nn.Builder, c *Config, run Run) (Model, error) {
	run, err := run.eagerOnly("bloom")
	if err != nil {
		return nil, err
	}
	c.alias("n_layer", "num_hidden_layers")
	c.alias("n_head", "num_attention_heads")
	c.alias("hidden_size", "n_embed")
	if c.Bool("slow_but_exact", false) && c.Int("pretraining_tp", 1) > 1 {
		c.fail("slow_but_exact", "false, because its effect is not simulated")
	}
	hidden := c.Positive("hidden_size", 64)
	m := &bloom{net: net{b.W, run}, heads: c.Positive("n_head", 8)}
	m.embed = b.Embedding("transformer.word_embeddings", c.Positive("vocab_size", 250880), hidden)
	m.embedNorm = b.LayerNorm("transformer.word_embeddings_layernorm", hidden, true)
	for i := range c.Int("n_layer", 2) {
		m.h = append(m.h, newBloomBlock(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	m.head = newCausalHead(b, c, run, hidden, m.embed, true)
	return m, nil
}

func (m *bloom) Batch() Batch { return m.textBatch() }

// Loss is BloomForCausalLM.forward.
func (m *bloom) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is BloomModel.forward. If the batch has no mask, it makes one.
func (m *bloom) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	hidden := fn.Let(m.embedNorm.Call(embeds))
	mask := b.Mask
	if mask == nil {
		mask = m.w.Full(shadow.Float32, m.run.Batch, m.run.Seq)
	}
	fn.Let(mask)
	m.alibi = fn.Let(alibi(mask, m.heads, hidden.DType(), shadow.None))
	m.mask = fn.Let(m.causalMask(embeds, mask, nil, 0))
	var outputs [2]*shadow.Tensor
	for _, block := range m.h {
		out, weights := m.layerWeights(block, hidden, m.alibi, m.mask)
		fn.Set2(&outputs[0], out, &outputs[1], weights)
		fn.Set(&hidden, out)
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	return fn.Return(hidden)
}

type bloomBlock struct {
	shadow.Path
	input, post *nn.LayerNorm
	attn        *bloomAttention
	mlp         *bloomMLP
	after       bool // residuals are taken from the norms' output
}

func newBloomBlock(b *nn.Builder, c *Config, m *bloom, at string, hidden int) *bloomBlock {
	drop := nn.Dropout(c.Float("hidden_dropout", 0))
	l := &bloomBlock{Path: shadow.Path(at), after: c.Bool("apply_residual_connection_post_layernorm", false)}
	l.input = b.LayerNorm(at+".input_layernorm", hidden, true)
	l.attn = &bloomAttention{
		Path: shadow.Path(at + ".self_attention"), m: m, headDim: c.HeadDim(hidden, m.heads), drop: drop,
		qkv:     b.Linear(at+".self_attention.query_key_value", hidden, 3*hidden, true),
		dense:   b.Linear(at+".self_attention.dense", hidden, hidden, true),
		dropout: nn.Dropout(c.Float("attention_dropout", 0)),
	}
	l.post = b.LayerNorm(at+".post_attention_layernorm", hidden, true)
	l.mlp = &bloomMLP{
		Path: shadow.Path(at + ".mlp"), drop: drop,
		up:   b.Linear(at+".mlp.dense_h_to_4h", hidden, 4*hidden, true),
		down: b.Linear(at+".mlp.dense_4h_to_h", 4*hidden, hidden, true),
	}
	return l
}

func (l *bloomBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	normed := fn.Let(l.input.Call(hidden))
	residual := fn.Let(hidden)
	if l.after {
		fn.Set(&residual, normed)
	}
	l.attn.residual = residual
	attended, weights := fn.Let2(w.Call2(l.attn, normed))
	fn.Set(&normed, l.post.Call(attended))
	fn.Set(&residual, attended)
	if l.after {
		fn.Set(&residual, normed)
	}
	l.mlp.residual = residual
	return fn.Let(w.Call(l.mlp, normed)), weights
}

type bloomAttention struct {
	shadow.Path
	m             *bloom
	qkv, dense    *nn.Linear
	headDim       int
	dropout, drop nn.Dropout
	residual      *shadow.Tensor // for the current call
}

func (a *bloomAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, D := hidden.Size(0), hidden.Size(1), a.headDim
	fused := fn.Let(a.qkv.Call(hidden)) // (B, S, 3H)
	query, key, value := a.split(fused)
	fn.Let(query)
	fn.Let(key)
	fn.Let(value)
	a.m.cached(fn, &key, &value, 0)
	fn.Set(&query, query.Reshape(B*a.m.heads, -1, D))
	fn.Set(&key, key.Reshape(B*a.m.heads, -1, D).Transpose(-1, -2))
	fn.Set(&value, value.Reshape(B*a.m.heads, -1, D))
	scores := fn.Let(a.m.alibi.Baddbmm(query, key)) // (B·H, S, S)
	weights := fn.Let(scores.View(B, a.m.heads, S, -1))
	fn.Set(&weights, weights.Add(a.m.mask))
	probs := fn.Let(weights.Softmax(shadow.Float32).To(query.DType()))
	fn.Set(&probs, a.dropout.Call(probs))
	flat := fn.Let(probs.View(B*a.m.heads, S, -1))
	context := fn.Let(flat.Bmm(value)) // (B·H, S, D)
	fn.Set(&context, mergedBatch(context, a.m.heads))
	out := fn.Let(a.dense.Call(context))
	fn.Set(&out, dropoutAdd(out, a.residual, a.drop))
	return out, probs
}

// split is _reshape: (B, S, 3H) to three of (B, H, S, D).
func (a *bloomAttention) split(fused *shadow.Tensor) (query, key, value *shadow.Tensor) {
	fn := fused.World().Func(fused)
	fn.Set(&fused, fused.View(fused.Size(0), fused.Size(1), a.m.heads, 3, a.headDim))
	query = fn.Let(fused.Select(3, 0).Transpose(1, 2))
	key = fn.Let(fused.Select(3, 1).Transpose(1, 2))
	value = fn.Let(fused.Select(3, 2).Transpose(1, 2))
	return fn.Return3(query, key, value)
}

// mergedBatch is _merge_heads of BLOOM and Falcon: (B·H, S, D) to (B, S, H·D).
func mergedBatch(x *shadow.Tensor, heads int) *shadow.Tensor {
	fn := x.World().Func(x)
	B, S, D := x.Size(0)/heads, x.Size(1), x.Size(2)
	fn.Set(&x, x.View(B, heads, S, D))
	fn.Set(&x, x.Permute(0, 2, 1, 3))
	return fn.Return(x.Reshape(B, S, heads*D))
}

// dropoutAdd is dropout_add.
func dropoutAdd(x, residual *shadow.Tensor, drop nn.Dropout) *shadow.Tensor {
	fn := x.World().Func(x, residual)
	out := fn.Let(drop.Call(x))
	fn.Set(&out, residual.Add(out))
	return fn.Return(out)
}

type bloomMLP struct {
	shadow.Path
	up, down *nn.Linear
	drop     nn.Dropout
	residual *shadow.Tensor // for the current call
}

func (m *bloomMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.up.Call(hidden).SavingFunction("GeLUFunctionBackward", bloomGELU, bloomGELUBack))
	out := fn.Let(m.down.Call(hidden))
	return fn.Let(dropoutAdd(out, m.residual, m.drop))
}

// bloomGELU is bloom_gelu_forward.
func bloomGELU(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	half, scaled := x.MulScalar(), x.MulScalar()
	return fn.Return(half.Mul(scaled.Mul(x.MulScalar().Mul(x).AddScalar()).Tanh().AddScalar()))
}

// bloomGELUBack is bloom_gelu_back.
func bloomGELUBack(g, x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(g, x)
	scaled := x.MulScalar()
	tanh := fn.Let(scaled.Mul(x.MulScalar().Mul(x).AddScalar()).Tanh())
	half := x.MulScalar()
	slope := tanh.Mul(tanh).RSubScalar()
	first := half.Mul(slope.Mul(x.MulScalar().Mul(x).AddScalar()))
	ff := fn.Let(first.Add(tanh.AddScalar().MulScalar()))
	return fn.Return(ff.Mul(g))
}
