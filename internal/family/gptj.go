// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GPT-J: transformers/models/gptj/modeling_gptj.py. Attention and MLP run in parallel after one norm; each
// attention has its own table of sines and cosines; GPT-J's own eager code computes scores in float32.

type gptJ struct {
	net
	wte  *nn.Embedding
	drop nn.Dropout
	h    []*gptJBlock
	lnF  *nn.LayerNorm
	mask *shadow.Tensor // for the current forward, like the positions
	pos  *shadow.Tensor
	head *causalHead
}

func newGPTJ(b *nn.Builder, c *Config, run Run) (Model, error) {
	run, err := run.eagerOnly("gptj")
	if err != nil {
		return nil, err
	}
	c.alias("n_embd", "hidden_size")
	c.alias("n_positions", "max_position_embeddings")
	c.alias("n_head", "num_attention_heads")
	c.alias("n_layer", "num_hidden_layers")
	hidden := c.Positive("n_embd", 4096)
	m := &gptJ{net: net{b.W, run}, drop: nn.Dropout(c.Float("embd_pdrop", 0))}
	m.wte = b.Embedding("transformer.wte", c.Positive("vocab_size", 50400), hidden)
	for i := range c.Int("n_layer", 28) {
		m.h = append(m.h, newGPTJBlock(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	for _, block := range m.h { // _init_weights makes the tables again
		sinusoids(b.W, block.attn.table.Size(0), block.attn.rotated).Drop()
	}
	m.head = newBiasedHead(b, c, run, hidden, m.wte, false, true)
	return m, nil
}

func (m *gptJ) Batch() Batch { return m.textBatch() }

// Loss is GPTJForCausalLM.forward.
func (m *gptJ) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is GPTJModel.forward.
func (m *gptJ) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.wte.Call(b.IDs))
	m.pos = positions(fn, m.w, m.run.Seq)
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, m.pos, 0))
	hidden := fn.Let(m.drop.Call(embeds))
	var outputs [2]*shadow.Tensor
	for _, block := range m.h {
		out, weights := m.layerWeights(block, hidden, m.mask, m.pos)
		fn.Set2(&outputs[0], out, &outputs[1], weights)
		fn.Set(&hidden, out)
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	fn.Set(&hidden, hidden.View(-1, m.run.Seq, hidden.Size(-1)))
	return fn.Return(hidden)
}

type gptJBlock struct {
	shadow.Path
	ln1  *nn.LayerNorm
	attn *gptJAttention
	mlp  *gptJMLP
}

func newGPTJBlock(b *nn.Builder, c *Config, m *gptJ, at string, hidden int) *gptJBlock {
	l := &gptJBlock{Path: shadow.Path(at)}
	l.ln1 = b.LayerNorm(at+".ln_1", hidden, true)
	l.attn = newGPTJAttention(b, c, m, at+".attn", hidden)
	inner := c.Positive("n_inner", 4*hidden)
	l.mlp = &gptJMLP{
		Path:  shadow.Path(at + ".mlp"),
		fcIn:  b.Linear(at+".mlp.fc_in", hidden, inner, true),
		fcOut: b.Linear(at+".mlp.fc_out", inner, hidden, true),
		act:   c.activation("activation_function", "gelu_new"), drop: l.attn.resid,
	}
	return l
}

func (l *gptJBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.ln1.Call(hidden))
	attended, weights := fn.Let2(w.Call2(l.attn, hidden))
	feed := fn.Let(w.Call(l.mlp, hidden))
	fn.Set(&hidden, attended.Add(feed).Add(residual))
	return hidden, weights
}

type gptJAttention struct {
	shadow.Path
	m              *gptJ
	k, v, q, out   *nn.Linear
	table          *shadow.Tensor // embed_positions, (P, R)
	heads, headDim int
	rotated        int // rotated elements per head
	drop, resid    nn.Dropout
}

func newGPTJAttention(b *nn.Builder, c *Config, m *gptJ, at string, hidden int) *gptJAttention {
	a := &gptJAttention{Path: shadow.Path(at), m: m, heads: c.Positive("n_head", 16)}
	a.headDim = c.HeadDim(hidden, a.heads)
	a.drop, a.resid = nn.Dropout(c.Float("attn_pdrop", 0)), nn.Dropout(c.Float("resid_pdrop", 0))
	a.k = b.Linear(at+".k_proj", hidden, hidden, false)
	a.v = b.Linear(at+".v_proj", hidden, hidden, false)
	a.q = b.Linear(at+".q_proj", hidden, hidden, false)
	a.out = b.Linear(at+".out_proj", hidden, hidden, false)
	a.rotated = c.Positive("rotary_dim", 64)
	if c.null("rotary_dim") || a.rotated > a.headDim || a.rotated%2 != 0 {
		c.fail("rotary_dim", "even and at most the head dimension")
		a.rotated = 2
	}
	a.table = b.RegisterAt(at+".embed_positions", sinusoids(b.W, c.Positive("n_positions", 2048), a.rotated))
	return a
}

// sinusoids is create_sinusoidal_positions: (places, dim).
func sinusoids(w *shadow.World, places, dim int) *shadow.Tensor {
	fn := w.Func()
	powers := w.Arange(dim/2).Plain("div", shadow.Float32).ScalarPow().Hold()
	freq := fn.Let(powers.MulScalar().MulScalar())
	powers.Drop()
	angles := fn.Let(w.Arange(places).Float().Unsqueeze(1).Mul(freq)) // (places, dim/2)
	return fn.Return(shadow.Cat(1, angles.Sin(), angles.Cos()))
}

func (a *gptJAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, D, R := hidden.Size(0), hidden.Size(1), a.headDim, a.rotated
	query := fn.Let(a.q.Call(hidden))
	key := fn.Let(a.k.Call(hidden))
	value := fn.Let(a.v.Call(hidden))
	fn.Set(&query, query.View(B, S, a.heads, D))
	fn.Set(&key, key.View(B, S, a.heads, D))
	fn.Set(&value, value.View(B, S, a.heads, D).Permute(0, 2, 1, 3)) // (B, H, S, D)

	table := fn.Let(a.table.Repeat(1, 1, 1))             // (1, P, R)
	pos := fn.Let(a.m.pos.Unsqueeze(-1).Repeat(1, 1, R)) // (1, S, R)
	sincos := fn.Let(table.Gather(pos).To(key.DType()))  // (1, S, R)
	halves := sincos.Chunk(2, -1)
	sin, cos := fn.Let(halves[0]), fn.Let(halves[1])
	keyRot, keyPass := fn.Let(key.Slice(-1, 0, R)), fn.Let(key.Slice(-1, R, D))
	queryRot, queryPass := fn.Let(query.Slice(-1, 0, R)), fn.Let(query.Slice(-1, R, D))
	fn.Set(&keyRot, gptJRotary(keyRot, sin, cos))
	fn.Set(&queryRot, gptJRotary(queryRot, sin, cos))
	fn.Set(&key, shadow.Cat(-1, keyRot, keyPass))
	fn.Set(&query, shadow.Cat(-1, queryRot, queryPass))
	fn.Set(&key, key.Permute(0, 2, 1, 3))
	fn.Set(&query, query.Permute(0, 2, 1, 3))
	a.m.cached(fn, &key, &value, 0)

	out, weights := fn.Let2(a.attention(query, key, value))
	fn.Set(&out, mergedHeads(out))
	fn.Set(&out, a.out.Call(out))
	fn.Set(&out, a.resid.Call(out))
	return out, weights
}

// attention is _attn.
func (a *gptJAttention) attention(query, key, value *shadow.Tensor) (out, weights *shadow.Tensor) {
	fn := query.World().Func(query, key, value)
	fn.Set(&query, query.To(shadow.Float32))
	fn.Set(&key, key.To(shadow.Float32))
	fn.Set(&weights, query.Matmul(key.Transpose(-1, -2))) // (B, H, S, S)
	fn.Set(&weights, weights.DivScalar())
	fn.Set(&weights, weights.Add(a.m.mask))
	fn.Set(&weights, weights.Softmax(shadow.None))
	fn.Set(&weights, weights.To(value.DType()))
	fn.Set(&weights, a.drop.Call(weights))
	fn.Set(&out, weights.Matmul(value))
	return fn.Return2(out, weights)
}

// mergedHeads is _merge_heads of GPT-J and GPT-Neo: (B, H, S, D) to (B, S, H·D).
func mergedHeads(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	B, H, S, D := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	fn.Set(&x, x.Permute(0, 2, 1, 3).Contiguous())
	return fn.Return(x.View(B, S, H*D))
}

// gptJRotary is GPT-J's apply_rotary_pos_emb.
func gptJRotary(x, sin, cos *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x, sin, cos)
	fn.Set(&sin, sin.Unsqueeze(2).RepeatInterleave(2, 3))
	fn.Set(&cos, cos.Unsqueeze(2).RepeatInterleave(2, 3))
	return fn.Return(x.Mul(cos).Add(rotateNeighbors(x).Mul(sin)))
}

type gptJMLP struct {
	shadow.Path
	fcIn, fcOut *nn.Linear
	act         activation
	drop        nn.Dropout
}

func (m *gptJMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.fcIn.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.fcOut.Call(hidden))
	fn.Set(&hidden, m.drop.Call(hidden))
	return hidden
}
