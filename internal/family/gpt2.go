// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GPT-2: transformers/models/gpt2/modeling_gpt2.py.

type gpt2 struct {
	net
	wte, wpe *nn.Embedding
	drop     nn.Dropout
	h        []*gpt2Block
	lnF      *nn.LayerNorm
	head     *causalHead
	mask     *shadow.Tensor // for the current forward
}

func newGPT2(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.alias("n_embd", "hidden_size")
	c.alias("n_positions", "max_position_embeddings")
	c.alias("n_head", "num_attention_heads")
	c.alias("n_layer", "num_hidden_layers")
	c.refuse("add_cross_attention")
	c.refuse("reorder_and_upcast_attn")
	hidden := c.Positive("n_embd", 768)
	heads := c.Positive("n_head", 12)
	m := &gpt2{net: net{b.W, run}}
	m.wte = b.Embedding("transformer.wte", c.Positive("vocab_size", 50257), hidden)
	m.wpe = b.Embedding("transformer.wpe", c.Positive("n_positions", 1024), hidden)
	m.drop = nn.Dropout(c.Float("embd_pdrop", 0.1))
	for i := range c.Int("n_layer", 12) {
		m.h = append(m.h, newGPT2Block(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden, heads))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	m.head = newCausalHead(b, c, run, hidden, m.wte, true)
	return m, nil
}

func (m *gpt2) Batch() Batch { return m.textBatch() }

// Loss is GPT2LMHeadModel.forward.
func (m *gpt2) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is GPT2Model.forward.
func (m *gpt2) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.wte.Call(b.IDs))
	pos := positions(fn, m.w, m.run.Seq)
	posEmbeds := fn.Let(m.wpe.Call(pos)) // (1, S, H)
	hidden := fn.Let(embeds.Add(posEmbeds))
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, pos, 0))
	m.w.Local(&m.mask)
	fn.Set(&hidden, m.drop.Call(hidden))
	for _, block := range m.h {
		fn.Set(&hidden, m.layer(block, hidden, m.mask, pos))
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	return fn.Return(hidden)
}

type gpt2Block struct {
	shadow.Path
	ln1, ln2 *nn.LayerNorm
	attn     *gpt2Attention
	mlp      *gpt2MLP
}

func newGPT2Block(b *nn.Builder, c *Config, m *gpt2, at string, hidden, heads int) *gpt2Block {
	resid := nn.Dropout(c.Float("resid_pdrop", 0.1))
	l := &gpt2Block{Path: shadow.Path(at)}
	l.ln1 = b.LayerNorm(at+".ln_1", hidden, true)
	l.attn = &gpt2Attention{
		Path: shadow.Path(at + ".attn"), m: m, headDim: c.HeadDim(hidden, heads),
		cAttn:   b.Conv1D(at+".attn.c_attn", 3*hidden, hidden),
		cProj:   b.Conv1D(at+".attn.c_proj", hidden, hidden),
		dropout: c.Float("attn_pdrop", 0.1), resid: resid,
	}
	l.ln2 = b.LayerNorm(at+".ln_2", hidden, true)
	inner := c.Positive("n_inner", 4*hidden)
	l.mlp = &gpt2MLP{
		Path:    shadow.Path(at + ".mlp"),
		cFC:     b.Conv1D(at+".mlp.c_fc", inner, hidden),
		cProj:   b.Conv1D(at+".mlp.c_proj", hidden, inner),
		act:     c.activation("activation_function", "gelu_new"),
		dropout: resid,
	}
	return l
}

func (l *gpt2Block) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.ln1.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&hidden, out.Add(residual))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.ln2.Call(hidden))
	feed := fn.Let(w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(feed))
	return hidden
}

type gpt2Attention struct {
	shadow.Path
	m            *gpt2
	cAttn, cProj *nn.Conv1D
	headDim      int
	dropout      float64
	resid        nn.Dropout
}

func (a *gpt2Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S, H := hidden.Size(0), hidden.Size(1), hidden.Size(2)
	qkv := a.cAttn.Call(hidden).Split(2, H, H, H)
	query, key, value := fn.Let(qkv[0]), fn.Let(qkv[1]), fn.Let(qkv[2])
	fn.Set(&key, key.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&value, value.View(B, S, -1, a.headDim).Transpose(1, 2))
	fn.Set(&query, query.View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	a.m.cached(fn, &key, &value, 0)

	out, weights := a.attention(query, key, value)
	fn.Let(out) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.cProj.Call(out))
	fn.Set(&out, a.resid.Call(out))
	return out, weights
}

// attention is the attention of all decoders (attention.go), except that GPT-2 has its own eager function.
func (a *gpt2Attention) attention(q, k, v *shadow.Tensor) (out, weights *shadow.Tensor) {
	mask := a.m.mask
	if a.m.run.Attention != "eager" {
		return a.m.attention(q, k, v, attending{mask: mask, causal: true, dropout: a.dropout})
	}
	fn := a.m.w.Func(q, k, v, mask)
	fn.Set(&weights, q.Matmul(k.Transpose(-1, -2)).MulScalar())
	if mask != nil {
		fn.Set(&weights, weights.Add(mask))
	}
	fn.Set(&weights, weights.Softmax(shadow.None))
	fn.Set(&weights, weights.To(v.DType()))
	fn.Set(&weights, weights.Dropout(a.dropout))
	fn.Set(&out, weights.Matmul(v))
	fn.Set(&out, out.Transpose(1, 2))
	return fn.Return2(out, weights)
}

type gpt2MLP struct {
	shadow.Path
	cFC, cProj *nn.Conv1D
	act        activation
	dropout    nn.Dropout
}

func (m *gpt2MLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.cFC.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.cProj.Call(hidden))
	return m.dropout.Call(hidden)
}
