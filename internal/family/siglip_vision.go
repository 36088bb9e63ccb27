// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// SigLIP's vision tower: SiglipVisionModel in transformers/models/siglip/modeling_siglip.py.

type siglipVision struct {
	net
	b         *nn.Builder
	size      towerSize
	patches   *nn.Conv2d
	positions *nn.Embedding
	ids       *shadow.Tensor // position_ids
	layers    []*clipLayer
	post      *nn.LayerNorm
}

func newSigLIPVision(b *nn.Builder, c *Config, run Run, at string) *siglipVision {
	s := readCLIP(c, clipShape{hidden: 768, heads: 12, inter: 3072}, "gelu_pytorch_tanh")
	s.siglip = true
	m := &siglipVision{net: net{b.W, run}, b: b, size: readTowerSize(c, s.hidden, 16)}
	n := m.size.side * m.size.side
	m.patches = b.Conv2d(at+".embeddings.patch_embedding", m.size.channels, s.hidden, m.size.patch, shadow.Conv{Stride: m.size.patch, Groups: 1}, true)
	m.positions = b.Embedding(at+".embeddings.position_embedding", n, s.hidden)
	m.ids = b.Buffer(shadow.Int64, 1, n)
	for i := range c.Int("num_hidden_layers", 12) {
		m.layers = append(m.layers, newCLIPLayer(b, c, m.net, fmt.Sprintf("%s.encoder.layers.%d", at, i), s))
	}
	m.post = b.LayerNorm(at+".post_layernorm", s.hidden, true)
	if c.Bool("vision_use_head", true) {
		c.fail("vision_use_head", "false; the pooling head is not simulated")
	}
	return m
}

// forward is SiglipVisionModel.forward.
func (m *siglipVision) forward(pixels *shadow.Tensor, states bool) towerOutputs {
	fn := m.w.Func(pixels)
	hidden := fn.Let(m.embed(pixels))
	out := towerOutputs{}
	if states {
		out.states = append(out.states, fn.Let(hidden))
	}
	inner := m.w.Func(hidden) // SiglipEncoder.forward
	x := hidden
	for _, l := range m.layers {
		inner.Set(&x, m.block(l, x))
		if states {
			out.states = append(out.states, fn.Let(x))
		}
	}
	out.last = fn.Let(inner.Return(x))
	fn.Set(&out.last, m.post.Call(out.last))
	return out.leave(fn)
}

// embed is SiglipVisionEmbeddings.forward.
func (m *siglipVision) embed(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	patches := fn.Let(m.b.TowerInput(m.w.Call(m.patches, pixels.To(m.patches.Weight.DType())))) // (B, H, n, n)
	embeds := fn.Let(patches.Flatten(2).Transpose(1, 2))
	fn.Set(&embeds, embeds.Add(m.positions.Call(m.ids)))
	return fn.Return(embeds)
}
