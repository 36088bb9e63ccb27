// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GPT-NeoX, the architecture of Pythia: transformers/models/gpt_neox/modeling_gpt_neox.py. Attention and
// MLP run in parallel, each after its own norm.

type gptNeoX struct {
	net
	embedIn *nn.Embedding
	drop    nn.Dropout
	layers  []*gptNeoXLayer
	norm    *nn.LayerNorm
	rotary  *rotary
	mask    *shadow.Tensor // for the current forward
	head    *causalHead
}

func newGPTNeoX(b *nn.Builder, c *Config, run Run) (Model, error) {
	hidden := c.Positive("hidden_size", 6144)
	heads := c.Positive("num_attention_heads", 64)
	dim := c.HeadDim(hidden, heads)
	m := &gptNeoX{net: net{b.W, run}, drop: nn.Dropout(c.Float("hidden_dropout", 0))}
	m.embedIn = b.Embedding("gpt_neox.embed_in", c.Positive("vocab_size", 50432), hidden)
	for i := range c.Int("num_hidden_layers", 44) {
		m.layers = append(m.layers, newGPTNeoXLayer(b, c, m, fmt.Sprintf("gpt_neox.layers.%d", i), hidden, dim))
	}
	m.norm = b.LayerNorm("gpt_neox.final_layer_norm", hidden, true)
	m.rotary = newRotary(b, c, c.rotaryDim(dim, "rotary_pct", 0.25), c.ropeType())
	m.head = newCausalHead(b, c, run, hidden, m.embedIn, false)
	return m, nil
}

func (m *gptNeoX) Batch() Batch { return m.textBatch() }

// Loss is GPTNeoXForCausalLM.forward.
func (m *gptNeoX) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is GPTNeoXModel.forward.
func (m *gptNeoX) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embedIn.Call(b.IDs))
	pos := positions(fn, m.w, m.run.Seq)
	m.mask = fn.Let(m.causalMask(embeds, b.Mask, pos, 0))
	m.w.Local(&m.mask)
	hidden := fn.Let(m.drop.Call(embeds))
	m.rotary.cos, m.rotary.sin = m.rotary.forward(hidden, pos)
	fn.Let(m.rotary.cos)
	fn.Let(m.rotary.sin)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden, pos, m.rotary.cos, m.rotary.sin, m.mask))
	}
	fn.Set(&hidden, m.norm.Call(hidden))
	return fn.Return(hidden)
}

type gptNeoXLayer struct {
	shadow.Path
	input, post *nn.LayerNorm
	attn        *gptNeoXAttention
	mlp         *gptNeoXMLP
	drop        nn.Dropout
	parallel    bool
}

func newGPTNeoXLayer(b *nn.Builder, c *Config, m *gptNeoX, at string, hidden, dim int) *gptNeoXLayer {
	bias := c.Bool("attention_bias", true)
	inter := c.Positive("intermediate_size", 24576)
	l := &gptNeoXLayer{Path: shadow.Path(at), drop: m.drop, parallel: c.Bool("use_parallel_residual", true)}
	l.input = b.LayerNorm(at+".input_layernorm", hidden, true)
	l.post = b.LayerNorm(at+".post_attention_layernorm", hidden, true)
	l.attn = &gptNeoXAttention{
		Path: shadow.Path(at + ".attention"), m: m, headDim: dim,
		qkv:     b.Linear(at+".attention.query_key_value", hidden, 3*hidden, bias),
		dense:   b.Linear(at+".attention.dense", hidden, hidden, bias),
		dropout: c.Float("attention_dropout", 0),
	}
	l.mlp = &gptNeoXMLP{
		Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_act", "gelu"),
		up:   b.Linear(at+".mlp.dense_h_to_4h", hidden, inter, true),
		down: b.Linear(at+".mlp.dense_4h_to_h", inter, hidden, true),
	}
	return l
}

func (l *gptNeoXLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	out, weights := w.Call2(l.attn, l.input.Call(hidden))
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, l.drop.Call(out))
	if l.parallel {
		mlp := fn.Let(w.Call(l.mlp, l.post.Call(hidden)))
		fn.Set(&mlp, l.drop.Call(mlp))
		fn.Set(&hidden, mlp.Add(out).Add(hidden))
		return hidden
	}
	fn.Set(&out, out.Add(hidden))
	mlp := fn.Let(w.Call(l.mlp, l.post.Call(out)))
	fn.Set(&mlp, l.drop.Call(mlp))
	fn.Set(&hidden, mlp.Add(out))
	return hidden
}

type gptNeoXAttention struct {
	shadow.Path
	m          *gptNeoX
	qkv, dense *nn.Linear
	headDim    int
	dropout    float64
}

func (a *gptNeoXAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	qkv := fn.Let(a.qkv.Call(hidden).View(B, S, -1, 3*a.headDim).Transpose(1, 2)) // (B, H, S, 3D)
	parts := qkv.Chunk(3, -1)
	query, key, value := fn.Let(parts[0]), fn.Let(parts[1]), fn.Let(parts[2])

	q, k := applyPartialRotary(query, key, a.m.rotary.cos, a.m.rotary.sin, true)
	fn.Set2(&query, q, &key, k)
	a.m.cached(fn, &key, &value, 0)

	out, weights := a.m.attention(query, key, value, attending{mask: a.m.mask, causal: true, dropout: a.dropout})
	fn.Let(out) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.dense.Call(out))
	return out, weights
}

type gptNeoXMLP struct {
	shadow.Path
	up, down *nn.Linear
	act      activation
}

func (m *gptNeoXMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.up.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.down.Call(hidden))
	return hidden
}
