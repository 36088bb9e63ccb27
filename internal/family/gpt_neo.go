// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GPT-Neo: transformers/models/gpt_neo/modeling_gpt_neo.py. GPT-2's blocks with scores in float32. Every layer has
// its own mask table. Local layers' tables are not smaller.

type gptNeo struct {
	net
	wte, wpe *nn.Embedding
	drop     nn.Dropout
	h        []*gptNeoBlock
	lnF      *nn.LayerNorm
	mask     *shadow.Tensor // for the current forward
	head     *causalHead
}

func newGPTNeo(b *nn.Builder, c *Config, run Run) (Model, error) {
	run, err := run.eagerOnly("gpt_neo")
	if err != nil {
		return nil, err
	}
	c.alias("num_heads", "num_attention_heads")
	c.alias("num_layers", "num_hidden_layers")
	hidden := c.Positive("hidden_size", 2048)
	m := &gptNeo{net: net{b.W, run}, drop: nn.Dropout(c.Float("embed_dropout", 0))}
	m.wte = b.Embedding("transformer.wte", c.Positive("vocab_size", 50257), hidden)
	m.wpe = b.Embedding("transformer.wpe", c.Positive("max_position_embeddings", 2048), hidden)
	for i, local := range c.localLayers(c.Int("num_layers", 24)) {
		m.h = append(m.h, newGPTNeoBlock(b, c, m, fmt.Sprintf("transformer.h.%d", i), hidden, local))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", hidden, true)
	for _, block := range m.h { // _init_weights makes the tables again
		causalTable(b.W, block.attn.causal.Size(0), block.attn.local).Drop()
	}
	m.head = newCausalHead(b, c, run, hidden, m.wte, true)
	return m, nil
}

func (m *gptNeo) Batch() Batch { return m.textBatch() }

// Loss is GPTNeoForCausalLM.forward.
func (m *gptNeo) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is GPTNeoModel.forward.
func (m *gptNeo) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.wte.Call(b.IDs))
	pos := positions(fn, m.w, m.run.Seq)
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, pos, 0))
	places := fn.Let(m.wpe.Call(pos)) // (1, S, H)
	hidden := fn.Let(embeds.Add(places))
	fn.Set(&hidden, m.drop.Call(hidden))
	var outputs [2]*shadow.Tensor
	for _, block := range m.h {
		out, weights := m.layerWeights(block, hidden, m.mask)
		fn.Set2(&outputs[0], out, &outputs[1], weights)
		fn.Set(&hidden, out)
	}
	fn.Set(&hidden, m.lnF.Call(hidden))
	fn.Set(&hidden, hidden.View(-1, m.run.Seq, hidden.Size(-1)))
	return fn.Return(hidden)
}

type gptNeoBlock struct {
	shadow.Path
	ln1, ln2 *nn.LayerNorm
	attn     *gptNeoAttention
	mlp      *starcoder2MLP // the same forward as StarCoder2's
}

func newGPTNeoBlock(b *nn.Builder, c *Config, m *gptNeo, at string, hidden int, local bool) *gptNeoBlock {
	l := &gptNeoBlock{Path: shadow.Path(at)}
	resid := nn.Dropout(c.Float("resid_dropout", 0))
	l.ln1 = b.LayerNorm(at+".ln_1", hidden, true)
	l.attn = newGPTNeoAttention(b, c, m, at+".attn.attention", hidden, local)
	l.attn.resid = resid
	l.ln2 = b.LayerNorm(at+".ln_2", hidden, true)
	inner := c.Positive("intermediate_size", 4*hidden)
	l.mlp = &starcoder2MLP{
		Path:  shadow.Path(at + ".mlp"),
		cFC:   b.Linear(at+".mlp.c_fc", hidden, inner, true),
		cProj: b.Linear(at+".mlp.c_proj", inner, hidden, true),
		act:   c.activation("activation_function", "gelu_new"), drop: resid,
	}
	return l
}

func (l *gptNeoBlock) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.ln1.Call(hidden))
	attended, weights := fn.Let2(w.Call2(l.attn, hidden))
	fn.Set(&hidden, attended.Add(residual))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.ln2.Call(hidden))
	feed := fn.Let(w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(feed))
	return hidden, weights
}

// gptNeoAttention is GPTNeoSelfAttention.
type gptNeoAttention struct {
	shadow.Path
	m              *gptNeo
	k, v, q, out   *nn.Linear
	causal         *shadow.Tensor // the buffer called bias, (P, P)
	local          bool           // the layer has a window
	heads, headDim int
	drop, resid    nn.Dropout
}

func newGPTNeoAttention(b *nn.Builder, c *Config, m *gptNeo, at string, hidden int, local bool) *gptNeoAttention {
	a := &gptNeoAttention{Path: shadow.Path(at), m: m, heads: c.Positive("num_heads", 16), local: local}
	a.headDim = c.HeadDim(hidden, a.heads)
	a.drop = nn.Dropout(c.Float("attention_dropout", 0))
	a.causal = b.RegisterAt(at+".bias", causalTable(b.W, c.Positive("max_position_embeddings", 2048), local))
	a.k = b.Linear(at+".k_proj", hidden, hidden, false)
	a.v = b.Linear(at+".v_proj", hidden, hidden, false)
	a.q = b.Linear(at+".q_proj", hidden, hidden, false)
	a.out = b.Linear(at+".out_proj", hidden, hidden, true)
	return a
}

func (a *gptNeoAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	split := func(x *shadow.Tensor) *shadow.Tensor { return x.View(B, S, a.heads, a.headDim).Permute(0, 2, 1, 3) }
	query := fn.Let(a.q.Call(hidden))
	key := fn.Let(a.k.Call(hidden))
	value := fn.Let(a.v.Call(hidden))
	fn.Set(&query, split(query)) // (B, H, S, D)
	fn.Set(&key, split(key))
	fn.Set(&value, split(value))
	a.m.cached(fn, &key, &value, 0)
	out, weights := fn.Let2(a.attention(query, key, value))
	fn.Set(&out, mergedHeads(out))
	fn.Set(&out, a.out.Call(out))
	fn.Set(&out, a.resid.Call(out))
	return out, weights
}

// attention is _attn.
func (a *gptNeoAttention) attention(query, key, value *shadow.Tensor) (out, weights *shadow.Tensor) {
	w, S := query.World(), query.Size(-2)
	fn := w.Func(query, key, value)
	fn.Set(&query, query.To(shadow.Float32))
	fn.Set(&key, key.To(shadow.Float32))
	fn.Set(&weights, query.Matmul(key.Transpose(-1, -2)))    // (B, H, S, S)
	causal := fn.Let(a.causal.Slice(0, 0, S).Slice(1, 0, S)) // (S, S)
	lowest := fn.Let(w.Full(weights.DType()))
	fn.Set(&weights, shadow.WhereGrad(causal, weights, lowest))
	fn.Set(&weights, weights.Add(a.m.mask))
	fn.Set(&weights, weights.Softmax(shadow.None))
	fn.Set(&weights, weights.To(value.DType()))
	fn.Set(&weights, a.drop.Call(weights))
	fn.Set(&out, weights.Matmul(value))
	return fn.Return2(out, weights)
}

// causalTable makes the table of tokens that each token may attend to; if local is set, only within a window.
func causalTable(w *shadow.World, places int, local bool) *shadow.Tensor {
	fn := w.Func()
	table := fn.Let(w.Full(shadow.Bool, places, places).Tril())
	if local {
		fn.Set(&table, table.And(table.Tril()))
	}
	return fn.Return(table)
}

// localLayers reads attention_types, such as [[["global", "local"], 12]], and returns which layers have a window.
func (c *Config) localLayers(layers int) []bool {
	out := make([]bool, 0, layers)
	types, _ := c.keys["attention_types"].([]any)
	if types == nil {
		types = []any{[]any{[]any{"global", "local"}, float64(layers)}}
	}
	for _, t := range types {
		pair, _ := t.([]any)
		if len(pair) != 2 {
			break
		}
		names, _ := pair[0].([]any)
		times, _ := pair[1].(float64)
		for range min(int(times), layers) {
			for _, name := range names {
				out = append(out, name == "local")
			}
		}
	}
	if len(out) < layers {
		c.fail("attention_types", "global or local for each layer")
		return make([]bool, layers)
	}
	return out[:layers]
}
