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

func newCLIPText(b *nn.Builder, c *Config, run Run) *clipText {
	m := &clipText{net: net{b.W, run}, length: c.Positive("max_position_embeddings", 77), oldEnd: c.Int("eos_token_id", 49407) == 2}
	m.run.Attention = "sdpa"
	s := readCLIP(c, clipShape{hidden: 512, heads: 8, inter: 2048}, "quick_gelu")
	s.causal = true
	if s.dropout != 0 {
		c.fail("attention_dropout", "0; others are not simulated")
	}
	m.tokens = b.Embedding("embeddings.token_embedding", c.Positive("vocab_size", 49408), s.hidden)
	m.positions = b.Embedding("embeddings.position_embedding", m.length, s.hidden)
	m.ids = b.Buffer(shadow.Int64, 1, m.length)
	for i := range c.Int("num_hidden_layers", 12) {
		m.layers = append(m.layers, newCLIPLayer(b, c, m.net, fmt.Sprintf("encoder.layers.%d", i), s))
	}
	m.norm = b.LayerNorm("final_layer_norm", s.hidden, true)
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
