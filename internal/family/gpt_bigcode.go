// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GPTBigCode, the architecture of StarCoder and SantaCoder:
// transformers/models/gpt_bigcode/modeling_gpt_bigcode.py. It is GPT-2 with linear layers and one key-value head
// for all query heads.

type gptBigCode struct {
	net
	wte, wpe *nn.Embedding
	drop     nn.Dropout
	h        []*gptBigCodeBlock
	lnF      *nn.LayerNorm
	mask     *shadow.Tensor // for the current forward
	head     *causalHead
}

func newGPTBigCode(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.alias("n_embd", "hidden_size")
	c.alias("n_positions", "max_position_embeddings")
	c.alias("n_head", "num_attention_heads")
	c.alias("n_layer", "num_hidden_layers")
	c.refuse("add_cross_attention")
	hidden, places := c.Positive("n_embd", 768), c.Positive("n_positions", 1024)
	m := &gptBigCode{net: net{b.W, run}, drop: nn.Dropout(c.Float("embd_pdrop", 0.1))}
	m.wte = b.Embedding("transformer.wte", c.Positive("vocab_size", 50257), hidden)
	m.wpe = b.Embedding("transformer.wpe", places, hidden)
	for i := range c.Int("n_layer", 12) {
		m.h = append(m.h, newGPTBigCodeBlock(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	b.RegisterAt("transformer.bias", causalTable(b.W, places, false))
	causalTable(b.W, places, false).Drop() // _init_weights makes the table again
	m.head = newCausalHead(b, c, run, hidden, m.wte, true)
	return m, nil
}

func (m *gptBigCode) Batch() Batch { return m.textBatch() }

// Loss is GPTBigCodeForCausalLM.forward.
func (m *gptBigCode) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is GPTBigCodeModel.forward.
func (m *gptBigCode) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.wte.Call(b.IDs))
	pos := positions(fn, m.w, m.run.Seq)
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, pos, 0))
	places := fn.Let(m.wpe.Call(pos)) // (1, S, H)
	hidden := fn.Let(embeds.Add(places))
	fn.Set(&hidden, m.drop.Call(hidden))
	for _, block := range m.h {
		fn.Set(&hidden, m.layer(block, hidden, m.mask))
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	fn.Set(&hidden, hidden.View(-1, m.run.Seq, hidden.Size(-1)))
	return fn.Return(hidden)
}

type gptBigCodeBlock struct {
	shadow.Path
	ln1, ln2 *nn.LayerNorm
	attn     *gptBigCodeAttention
	mlp      *starcoder2MLP // the same forward as StarCoder2's
}

func newGPTBigCodeBlock(b *nn.Builder, c *Config, m *gptBigCode, at string, hidden int) *gptBigCodeBlock {
	l := &gptBigCodeBlock{Path: shadow.Path(at)}
	resid := nn.Dropout(c.Float("resid_pdrop", 0.1))
	heads := c.Positive("n_head", 12)
	l.ln1 = b.LayerNorm(at+".ln_1", hidden, true)
	l.attn = &gptBigCodeAttention{
		Path: shadow.Path(at + ".attn"), m: m, headDim: c.HeadDim(hidden, heads), kv: heads,
		dropout: c.Float("attn_pdrop", 0.1), resid: resid,
	}
	if c.Bool("multi_query", true) {
		l.attn.kv = 1
	}
	l.attn.cAttn = b.Linear(at+".attn.c_attn", hidden, hidden+2*l.attn.kv*l.attn.headDim, true)
	l.attn.cProj = b.Linear(at+".attn.c_proj", hidden, hidden, true)
	l.ln2 = b.LayerNorm(at+".ln_2", hidden, true)
	inner := c.Positive("n_inner", 4*hidden)
	l.mlp = &starcoder2MLP{
		Path:  shadow.Path(at + ".mlp"),
		cFC:   b.Linear(at+".mlp.c_fc", hidden, inner, true),
		cProj: b.Linear(at+".mlp.c_proj", inner, hidden, true),
		act:   c.activation("activation_function", "gelu_pytorch_tanh"), drop: resid,
	}
	return l
}

func (l *gptBigCodeBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.ln1.Call(hidden))
	attended, _ := fn.Let2(w.Call2(l.attn, hidden))
	fn.Set(&hidden, attended.Add(residual))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.ln2.Call(hidden))
	feed := fn.Let(w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(feed))
	return hidden
}

type gptBigCodeAttention struct {
	shadow.Path
	m            *gptBigCode
	cAttn, cProj *nn.Linear
	headDim      int
	kv           int // key-value heads: one, or as many as query heads
	dropout      float64
	resid        nn.Dropout
}

func (a *gptBigCodeAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	query, key, value := a.project(fn, hidden)
	a.m.cached(fn, &key, &value, 0)
	out, weights := fn.Let2(a.m.attention(query, key, value, attending{mask: a.m.mask, causal: true, dropout: a.dropout}))
	fn.Set(&out, out.Reshape(hidden.Size(0), hidden.Size(1), -1).Contiguous())
	fn.Set(&out, a.cProj.Call(out))
	fn.Set(&out, a.resid.Call(out))
	return out, weights
}

// project returns queries (B, H, S, D), and keys and values (B, 1 or H, S, D), as variables of the forward.
func (a *gptBigCodeAttention) project(fn *shadow.Frame, hidden *shadow.Tensor) (query, key, value *shadow.Tensor) {
	B, S, H, D := hidden.Size(0), hidden.Size(1), hidden.Size(2), a.headDim
	if a.kv > 1 {
		parts := a.cAttn.Call(hidden).View(B, S, -1, 3*D).Transpose(1, 2).Split(3, D, D, D)
		return fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])
	}
	parts := a.cAttn.Call(hidden).Unsqueeze(1).Split(3, H, D, D) // (B, 1, S, ...)
	query, key, value = fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])
	fn.Set(&query, query.View(B, S, -1, D).Transpose(1, 2))
	return query, key, value
}
