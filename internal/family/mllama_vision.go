// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The vision tower of Llama 3.2 Vision: MllamaVisionModel in transformers/models/mllama/modeling_mllama.py. Each image has
// a place for the largest number of tiles; attention covers all of them. The blocks are never checkpointed.

type mllamaVision struct {
	net
	b                    *nn.Builder
	size                 towerSize
	tiles                int // places for tiles of an image
	patches              *nn.Conv2d
	class                *shadow.Tensor
	positions            *mllamaPositions
	preTile, postTile    *mllamaTileEmbedding
	normPre, normPost    *nn.LayerNorm
	transformer, overall []*mllamaVisionLayer
	intermediate         []int // blocks whose outputs are features too
}

func newMllamaVision(b *nn.Builder, c *Config, run Run, at string) *mllamaVision {
	width := c.Positive("hidden_size", 1280)
	s := towerSize{image: c.Positive("image_size", 448), patch: c.Positive("patch_size", 14), channels: c.Positive("num_channels", 3), width: width}
	if s.patch > s.image {
		c.fail("patch_size", "at most the image's side")
		s.patch = s.image
	}
	s.side = s.image / s.patch
	m := &mllamaVision{net: net{b.W, run}, b: b, size: s, tiles: c.Positive("max_num_tiles", 4), intermediate: c.Ints("intermediate_layers_indices")}
	if m.intermediate == nil {
		m.intermediate = []int{3, 7, 15, 23, 30}
	}
	ratios := 8
	if list, ok := c.keys["supported_aspect_ratios"].([]any); ok {
		ratios = len(list)
	}
	m.patches = b.Conv2d(at+".patch_embedding", s.channels, width, s.patch, shadow.Conv{Stride: s.patch, Groups: 1}, false)
	m.class = b.Parameter(at+".class_embedding", width)
	m.positions = newMllamaPositions(b, at+".gated_positional_embedding", ratios, m.tiles, s)
	m.preTile = newMllamaTileEmbedding(b, at+".pre_tile_positional_embedding", ratios, m.tiles, width)
	m.postTile = newMllamaTileEmbedding(b, at+".post_tile_positional_embedding", ratios, m.tiles, width)
	m.normPre = b.LayerNorm(at+".layernorm_pre", width, true)
	m.normPost = b.LayerNorm(at+".layernorm_post", width, true)
	for i := range c.Int("num_hidden_layers", 32) {
		m.transformer = append(m.transformer, newMllamaVisionLayer(b, c, m.net, fmt.Sprintf("%s.transformer.layers.%d", at, i), width, false))
	}
	for i := range c.Int("num_global_layers", 8) {
		m.overall = append(m.overall, newMllamaVisionLayer(b, c, m.net, fmt.Sprintf("%s.global_transformer.layers.%d", at, i), width, true))
	}
	for _, i := range m.intermediate {
		if i < 0 || i >= len(m.transformer) {
			c.fail("intermediate_layers_indices", "indices of the tower's layers")
			m.intermediate = nil
			break
		}
	}
	return m
}

// forward is MllamaVisionModel.forward: (B, images, tiles, patches, features).
func (m *mllamaVision) forward(pixels, ids, mask *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels, ids, mask)
	B, images, tiles, width := pixels.Size(0), pixels.Size(1), pixels.Size(2), m.size.width
	n := B * images
	fn.Set(&pixels, pixels.View(n*tiles, m.size.channels, m.size.image, m.size.image))
	fn.Set(&ids, ids.View(n, -1))
	patches := fn.Let(m.b.TowerInput(m.w.Call(m.patches, pixels.To(m.patches.Weight.DType()))))
	hidden := fn.Let(patches.Flatten(2).Transpose(1, 2))
	count := hidden.Size(1)
	fn.Set(&hidden, hidden.Reshape(n, tiles, -1, width))
	fn.Set(&hidden, m.preTile.call(hidden, ids))
	fn.Set(&hidden, hidden.Reshape(n*tiles, count, width))
	fn.Set(&hidden, m.withClass(hidden))
	count++
	fn.Set(&hidden, hidden.Reshape(n, tiles, count, width))
	fn.Set(&hidden, m.positions.call(hidden, ids))
	fn.Set(&hidden, m.normPre.Call(hidden))
	padding := (8 - count%8) % 8
	fn.Set(&hidden, hidden.PadDim(2, 0, padding))
	seen := fn.Let(mask.Reshape(n, -1))
	fn.Set(&seen, m.tileMask(seen, count+padding))

	fn.Set(&hidden, hidden.View(n, -1, width))
	states := m.encode(m.transformer, hidden, seen)
	for _, s := range states {
		fn.Let(s)
	}
	fn.Set(&hidden, states[len(states)-1])
	fn.Set(&hidden, m.normPost.Call(hidden))
	fn.Set(&hidden, hidden.Reshape(n, tiles, count+padding, width))
	fn.Set(&hidden, m.postTile.call(hidden, ids))
	fn.Set(&hidden, hidden.Reshape(n, tiles*(count+padding), width))
	overall := m.encode(m.overall, hidden, seen)
	for _, s := range overall {
		fn.Let(s)
	}
	fn.Set(&hidden, overall[len(overall)-1])
	fn.Set(&hidden, hidden.Reshape(n, tiles, count+padding, width))
	fn.Set(&hidden, hidden.Slice(2, 0, count))
	fn.Set(&hidden, hidden.Reshape(B, images, tiles, count, width))

	chosen := make([]*shadow.Tensor, len(m.intermediate))
	for i, at := range m.intermediate {
		chosen[i] = states[at]
	}
	more := fn.Let(shadow.Stack(-1, chosen...))
	fn.Set(&more, more.Reshape(n, tiles, count+padding, -1))
	fn.Set(&more, more.Slice(2, 0, count))
	fn.Set(&more, more.Reshape(B, images, tiles, count, -1))
	fn.Set(&hidden, shadow.Cat(-1, hidden, more))
	return fn.Return(hidden)
}

// encode is MllamaVisionEncoder.forward: the output of each layer.
func (m *mllamaVision) encode(layers []*mllamaVisionLayer, hidden, mask *shadow.Tensor) []*shadow.Tensor {
	fn := m.w.Func(hidden, mask)
	var states []*shadow.Tensor
	for _, l := range layers {
		l.mask = mask
		states = append(states, fn.Let(m.w.Call(l, hidden)))
		hidden = states[len(states)-1]
		l.mask = nil
	}
	if states == nil {
		states = append(states, hidden)
	}
	return fn.Returns(states...)
}

// withClass is apply_class_embedding.
func (m *mllamaVision) withClass(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	class := fn.Let(m.class.Expand(hidden.Size(0), 1, hidden.Size(2)))
	fn.Set(&hidden, shadow.Cat(1, class, hidden))
	return fn.Return(hidden)
}

// tileMask is _prepare_aspect_ratio_attention_mask: a float mask that hides missing tiles and padding.
func (m *mllamaVision) tileMask(seen *shadow.Tensor, length int) *shadow.Tensor {
	fn := m.w.Func(seen)
	n, tiles := seen.Size(0), seen.Size(1)
	mask := fn.Let(seen.View(n, tiles, 1, 1).To(m.class.DType()))
	fn.Set(&mask, mask.Repeat(1, 1, length, 1))
	fn.Set(&mask, mask.Plain("rsub", mask.DType()))
	fn.Set(&mask, mask.Reshape(n, tiles*length, 1))
	fn.Set(&mask, mask.Matmul(mask.Transpose(-1, -2)).MulScalar())
	fn.Set(&mask, mask.Unsqueeze(1))
	return fn.Return(mask)
}

// mllamaTileEmbedding is MllamaPrecomputedAspectRatioEmbedding.
type mllamaTileEmbedding struct {
	table        *nn.Embedding
	gate         *shadow.Tensor
	tiles, width int
}

func newMllamaTileEmbedding(b *nn.Builder, at string, ratios, tiles, width int) *mllamaTileEmbedding {
	return &mllamaTileEmbedding{table: b.Embedding(at+".embedding", ratios+1, tiles*width), gate: b.Parameter(at+".gate", 1), tiles: tiles, width: width}
}

func (e *mllamaTileEmbedding) call(hidden, ids *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden, ids)
	embeds := fn.Let(e.table.Call(ids))
	fn.Set(&embeds, embeds.Reshape(-1, e.tiles, 1, e.width))
	fn.Set(&embeds, embeds.Mul(e.gate.Tanh()))
	fn.Set(&hidden, hidden.Add(embeds))
	return fn.Return(hidden)
}

// mllamaPositions is MllamaPrecomputedPositionEmbedding.
type mllamaPositions struct {
	gate, positions     *shadow.Tensor
	table               *nn.Embedding
	tiles, count, width int
}

func newMllamaPositions(b *nn.Builder, at string, ratios, tiles int, s towerSize) *mllamaPositions {
	count := s.side*s.side + 1
	return &mllamaPositions{
		gate: b.Parameter(at+".gate", 1), positions: b.Parameter(at+".embedding", count, s.width),
		table: b.Embedding(at+".tile_embedding", ratios+1, tiles*count*s.width), tiles: tiles, count: count, width: s.width,
	}
}

func (p *mllamaPositions) call(hidden, ids *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden, ids)
	gated := fn.Let(p.gate.Tanh().RSubScalar().Mul(p.positions))
	fn.Set(&hidden, hidden.Add(gated.View(1, 1, p.count, p.width)))
	tile := fn.Let(p.table.Call(ids))
	fn.Set(&tile, tile.Reshape(hidden.Size(0), p.tiles, p.count, p.width))
	gatedTile := fn.Let(p.gate.Tanh().Mul(tile))
	fn.Set(&hidden, hidden.Add(gatedTile))
	return fn.Return(hidden)
}

// mllamaVisionLayer is MllamaVisionEncoderLayer.
type mllamaVisionLayer struct {
	shadow.Path
	attn              *mllamaVisionAttention
	mlp               *vitMLP
	input, postAttn   *nn.LayerNorm
	gateAttn, gateMLP *shadow.Tensor // nil if the layer is not gated
	mask              *shadow.Tensor // of the current forward
}

func newMllamaVisionLayer(b *nn.Builder, c *Config, n net, at string, width int, gated bool) *mllamaVisionLayer {
	l := &mllamaVisionLayer{Path: shadow.Path(at)}
	heads, inter := c.Positive("attention_heads", c.Positive("num_attention_heads", 16)), c.Positive("intermediate_size", 5120)
	l.attn = &mllamaVisionAttention{Path: shadow.Path(at + ".self_attn"), net: n, l: l, dim: c.HeadDim(width, heads)}
	l.attn.q = b.Linear(at+".self_attn.q_proj", width, width, false)
	l.attn.k = b.Linear(at+".self_attn.k_proj", width, width, false)
	l.attn.v = b.Linear(at+".self_attn.v_proj", width, width, false)
	l.attn.o = b.Linear(at+".self_attn.o_proj", width, width, false)
	l.mlp = &vitMLP{Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_act", "gelu"), fc1: b.Linear(at+".mlp.fc1", width, inter, true), fc2: b.Linear(at+".mlp.fc2", inter, width, true)}
	l.input = b.LayerNorm(at+".input_layernorm", width, true)
	l.postAttn = b.LayerNorm(at+".post_attention_layernorm", width, true)
	if gated {
		l.gateAttn, l.gateMLP = b.Parameter(at+".gate_attn", 1), b.Parameter(at+".gate_ffn", 1)
	}
	return l
}

func (l *mllamaVisionLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.input.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	if l.gateAttn != nil {
		fn.Set(&hidden, l.gateAttn.Tanh().Mul(hidden))
	}
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.postAttn.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	if l.gateMLP != nil {
		fn.Set(&hidden, l.gateMLP.Tanh().Mul(hidden))
	}
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

// mllamaVisionAttention is MllamaVisionAttention.
type mllamaVisionAttention struct {
	shadow.Path
	net
	l          *mllamaVisionLayer
	q, k, v, o *nn.Linear
	dim        int
}

func (a *mllamaVisionAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query, key, value := fn.Let(a.q.Call(hidden)), fn.Let(a.k.Call(hidden)), fn.Let(a.v.Call(hidden))
	for _, x := range []**shadow.Tensor{&query, &key, &value} {
		fn.Set(x, (*x).View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	}
	out, weights := a.attention(query, key, value, attending{mask: a.l.mask}) // (B, S, H, D)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}
