// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// CLIP's vision tower: CLIPVisionModel in transformers/models/clip/modeling_clip.py.

type clipVision struct {
	net
	b         *nn.Builder
	size      towerSize
	class     *shadow.Tensor
	patches   *nn.Conv2d
	positions *nn.Embedding
	ids       *shadow.Tensor // position_ids
	pre, post *nn.LayerNorm
	layers    []*clipLayer
}

func newCLIPVision(b *nn.Builder, c *Config, run Run, at string) *clipVision {
	s := readCLIP(c, clipShape{hidden: 768, heads: 12, inter: 3072}, "quick_gelu")
	m := &clipVision{net: net{b.W, run}, b: b, size: readTowerSize(c, s.hidden, 32)}
	m.size.class = true
	n := m.size.side * m.size.side
	m.class = b.Parameter(at+".embeddings.class_embedding", s.hidden)
	m.patches = b.Conv2d(at+".embeddings.patch_embedding", m.size.channels, s.hidden, m.size.patch, shadow.Conv{Stride: m.size.patch, Groups: 1}, false)
	m.positions = b.Embedding(at+".embeddings.position_embedding", n+1, s.hidden)
	m.ids = b.Buffer(shadow.Int64, 1, n+1)
	m.pre = b.LayerNorm(at+".pre_layrnorm", s.hidden, true)
	for i := range c.Int("num_hidden_layers", 12) {
		m.layers = append(m.layers, newCLIPLayer(b, c, m.net, fmt.Sprintf("%s.encoder.layers.%d", at, i), s))
	}
	m.post = b.LayerNorm(at+".post_layernorm", s.hidden, true)
	return m
}

// forward is CLIPVisionModel.forward.
func (m *clipVision) forward(pixels *shadow.Tensor, states bool) towerOutputs {
	fn := m.w.Func(pixels)
	hidden := fn.Let(m.embed(pixels))
	fn.Set(&hidden, m.pre.Call(hidden))
	out := towerOutputs{}
	if states {
		out.states = append(out.states, fn.Let(hidden))
	}
	inner := m.w.Func(hidden) // CLIPEncoder.forward
	x := hidden
	for _, l := range m.layers {
		inner.Set(&x, m.block(l, x))
		if states {
			out.states = append(out.states, fn.Let(x))
		}
	}
	out.last = fn.Let(inner.Return(x))
	out.pooled = fn.Let(out.last.Select(1, 0))
	fn.Set(&out.pooled, m.post.Call(out.pooled))
	return out.leave(fn)
}

// embed is CLIPVisionEmbeddings.forward.
func (m *clipVision) embed(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	B := pixels.Size(0)
	patches := fn.Let(m.b.TowerInput(m.w.Call(m.patches, pixels.To(m.patches.Weight.DType())))) // (B, H, n, n)
	fn.Set(&patches, patches.Flatten(2).Transpose(1, 2))
	class := fn.Let(m.class.Expand(B, 1, -1))
	embeds := fn.Let(shadow.Cat(1, class, patches)) // (B, N + 1, H)
	fn.Set(&embeds, embeds.Add(m.positions.Call(m.ids)))
	return fn.Return(embeds)
}
