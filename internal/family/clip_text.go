// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// CLIP's text encoder: transformers/models/clip/modeling_clip.py.

type clipText struct {
	net
	tokens, positions *nn.Embedding
	ids               *shadow.Tensor // position_ids
	layers            []*clipLayer
	norm              *nn.LayerNorm
	length            int
	oldEnd            bool // the end of a text is its token with the highest id
}

type clipLayer struct {
	shadow.Path
	m            *clipText
	k, v, q, o   *nn.Linear
	norm1, norm2 *nn.LayerNorm
	fc1, fc2     *nn.Linear
	act          activation
	dim          int
}

func newCLIPText(b *nn.Builder, c *Config, run Run) *clipText {
	hidden, heads := c.Positive("hidden_size", 512), c.Positive("num_attention_heads", 8)
	m := &clipText{net: net{b.W, run}, length: c.Positive("max_position_embeddings", 77), oldEnd: c.Int("eos_token_id", 49407) == 2}
	m.run.Attention = "sdpa"
	if c.Float("attention_dropout", 0) != 0 {
		c.fail("attention_dropout", "0; others are not simulated")
	}
	m.tokens = b.Embedding("embeddings.token_embedding", c.Positive("vocab_size", 49408), hidden)
	m.positions = b.Embedding("embeddings.position_embedding", m.length, hidden)
	m.ids = b.Buffer(shadow.Int64, 1, m.length)
	inter, act := c.Positive("intermediate_size", 2048), c.activation("hidden_act", "quick_gelu")
	for i := range c.Int("num_hidden_layers", 12) {
		at := fmt.Sprintf("encoder.layers.%d", i)
		l := &clipLayer{Path: shadow.Path(at), m: m, act: act, dim: c.HeadDim(hidden, heads)}
		l.k = b.Linear(at+".self_attn.k_proj", hidden, hidden, true)
		l.v = b.Linear(at+".self_attn.v_proj", hidden, hidden, true)
		l.q = b.Linear(at+".self_attn.q_proj", hidden, hidden, true)
		l.o = b.Linear(at+".self_attn.out_proj", hidden, hidden, true)
		l.norm1 = b.LayerNorm(at+".layer_norm1", hidden, true)
		l.fc1 = b.Linear(at+".mlp.fc1", hidden, inter, true)
		l.fc2 = b.Linear(at+".mlp.fc2", inter, hidden, true)
		l.norm2 = b.LayerNorm(at+".layer_norm2", hidden, true)
		m.layers = append(m.layers, l)
	}
	m.norm = b.LayerNorm("final_layer_norm", hidden, true)
	return m
}

// call is text_encoder(ids)[0]. The pooled output is computed too.
func (m *clipText) call(ids *shadow.Tensor) *shadow.Tensor {
	w := m.w
	fn := w.Func(ids)
	fn.Set(&ids, ids.View(-1, ids.Size(1)))
	hidden := fn.Let(m.embed(ids))
	inner := w.Func(hidden) // CLIPEncoder.forward
	x := hidden
	for _, l := range m.layers {
		inner.Set(&x, w.Call(l, x))
	}
	outputs := fn.Let(inner.Return(x))
	last := fn.Let(m.norm.Call(outputs))
	rows := w.Arange(last.Size(0))
	end := ids.To(shadow.Int32)
	if !m.oldEnd {
		end = end.Compare("eq").To(shadow.Int32)
	}
	fn.Let(last.Index(rows, end.Argmax(false, -1)))
	return fn.Return(last)
}

// embed is CLIPTextEmbeddings.forward.
func (m *clipText) embed(ids *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(ids)
	at := fn.Let(m.ids.Slice(1, 0, ids.Size(1)))
	tokens := fn.Let(m.tokens.Call(ids))
	positions := fn.Let(m.positions.Call(at))
	embeddings := fn.Let(tokens.Add(positions))
	return fn.Return(embeddings)
}

func (l *clipLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.norm1.Call(hidden))
	fn.Set(&hidden, l.attend(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.norm2.Call(hidden))
	mlp := hidden.World().Func(hidden)
	x := hidden
	mlp.Set(&x, l.fc1.Call(x))
	mlp.Set(&x, l.act(x))
	mlp.Set(&x, l.fc2.Call(x))
	fn.Set(&hidden, mlp.Return(x))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// attend is CLIPAttention.forward.
func (l *clipLayer) attend(hidden *shadow.Tensor) *shadow.Tensor {
	fn := l.m.w.Func(hidden)
	B, S := hidden.Size(0), hidden.Size(1)
	q := fn.Let(l.q.Call(hidden))
	k := fn.Let(l.k.Call(hidden))
	v := fn.Let(l.v.Call(hidden))
	fn.Set(&q, q.View(B, S, -1, l.dim).Transpose(1, 2))
	fn.Set(&k, k.View(B, S, -1, l.dim).Transpose(1, 2))
	fn.Set(&v, v.View(B, S, -1, l.dim).Transpose(1, 2))
	out := fn.Let(l.m.sdpaAttention(q, k, v, attending{causal: true}))
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, l.o.Call(out))
	return fn.Return(out)
}
