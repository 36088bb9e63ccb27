// SPDX-License-Identifier: Apache-2.0

package family

import (
	"math"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// InternVL 2.5, 3 and 3.5 as transformers has them: transformers/models/internvl/modeling_internvl.py. Images are cut
// into tiles, and the features of neighboring patches are joined before they replace the embeddings of the image
// tokens.

type internVL struct {
	*llama
	tower     *internVision
	projector *internProjector
	layer     int // vision_feature_layer: index of the hidden states, or -1 for the last one
	ratio     int // patches along each side of a token
	tiles     int // of each image
}

func newInternVL(b *nn.Builder, c *Config, run Run) (Model, error) {
	v, t := c.within("vision_config"), c.within("text_config")
	m := &internVL{tower: newInternVision(b, v, run, "model.vision_tower")}
	if c.String("vision_feature_select_strategy", "default") != "default" {
		c.fail("vision_feature_select_strategy", "default; the class token among the features is not simulated")
	}
	m.layer = c.internLayer(len(m.tower.layers))
	m.ratio = c.downsampling()
	if m.tower.size.side%m.ratio != 0 {
		c.fail("downsample_ratio", "a part of the patches along each side of an image")
	}
	const at = "model.multi_modal_projector"
	width, out := m.tower.size.width*m.ratio*m.ratio, t.Positive("hidden_size", 4096)
	m.projector = &internProjector{Path: at, norm: b.LayerNorm(at+".layer_norm", width, true), act: c.activation("projector_hidden_act", "gelu")}
	m.projector.linear1, m.projector.linear2 = b.Linear(at+".linear_1", width, out, true), b.Linear(at+".linear_2", out, out, true)
	m.tiles = internTiles(m.tower.size.image, run.Images.Height, run.Images.Width)
	var err error
	tied := c.Bool("tie_word_embeddings", true)
	if run.Transformers > 0 && run.Transformers < 500 { // the text model's config decided
		tied = t.Bool("tie_word_embeddings", false)
	}
	if m.llama, err = newTextModel(b, t, run, "qwen2", tied); err != nil {
		return nil, err
	}
	return m, nil
}

// internLayer reads vision_feature_layer: the index of one of the hidden states, or -1 for the tower's result.
func (c *Config) internLayer(layers int) int {
	f, ok := c.keys["vision_feature_layer"].(float64)
	if !ok && c.Has("vision_feature_layer") {
		c.fail("vision_feature_layer", "a whole number; lists are not simulated")
	}
	if !ok || f == -1 {
		return -1
	}
	n := int(f)
	if n < 0 {
		n += layers + 1
	}
	if n < 0 || n > layers {
		c.fail("vision_feature_layer", "one of the tower's layers")
		return -1
	}
	return n
}

// downsampling reads downsample_ratio, and returns its inverse.
func (c *Config) downsampling() int {
	ratio := c.Float("downsample_ratio", 0.5)
	n := int(math.Round(1 / max(ratio, 1e-3)))
	if n < 1 || float64(n)*ratio != 1 {
		c.fail("downsample_ratio", "1 divided by a whole number")
		return 1
	}
	return n
}

// Batch makes the tensors that InternVLProcessor returns.
func (m *internVL) Batch() Batch {
	s := m.tower.size
	s.perImage = m.tiles
	return m.imageBatch(s, false)
}

// Loss is InternVLForConditionalGeneration.forward.
func (m *internVL) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden, _ := fn.Let2(m.forward(b)) // the outputs have image_hidden_states
	return fn.Return(m.head.loss(hidden, b))
}

// forward is InternVLModel.forward.
func (m *internVL) forward(b Batch) (hidden, features *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	if b.Pixels != nil {
		features = fn.Let(m.imageFeatures(b.Pixels))
		fn.Set(&features, features.To(embeds.DType()))
		image := fn.Let(m.imageTokens(b.IDs))
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	}
	hidden = fn.Let(m.fromEmbeds(textInput{embeds: embeds, mask: b.Mask}))
	return fn.Return2(hidden, features)
}

// imageFeatures is get_image_features.
func (m *internVL) imageFeatures(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	fn.Set(&pixels, pixels.To(m.tower.class.DType()))
	outputs := m.tower.forward(pixels, m.layer >= 0).bind(fn)
	features := fn.Let(outputs.last)
	if m.layer >= 0 {
		fn.Set(&features, outputs.states[m.layer])
	}
	fn.Set(&features, features.Slice(1, 1, features.Size(1)))
	B, side := features.Size(0), m.tower.size.side
	fn.Set(&features, features.Reshape(B, side, side, -1))
	fn.Set(&features, m.shuffle(features))
	fn.Set(&features, features.Reshape(B, -1, features.Size(3)))
	fn.Set(&features, m.w.Call(m.projector, features))
	return fn.Return(features)
}

// shuffle is pixel_shuffle: (B, side, side, width) to (B, side / ratio, side / ratio, width · ratio²).
func (m *internVL) shuffle(x *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(x)
	B, side, width, r := x.Size(0), x.Size(1), x.Size(3), m.ratio
	fn.Set(&x, x.View(B, side, side/r, width*r))
	fn.Set(&x, x.Permute(0, 2, 1, 3).Contiguous())
	fn.Set(&x, x.View(B, side/r, side/r, width*r*r))
	fn.Set(&x, x.Permute(0, 2, 1, 3).Contiguous())
	return fn.Return(x)
}

// internProjector is InternVLMultiModalProjector.
type internProjector struct {
	shadow.Path
	norm             *nn.LayerNorm
	act              activation
	linear1, linear2 *nn.Linear
}

func (p *internProjector) Forward(fn *shadow.Frame, features *shadow.Tensor) *shadow.Tensor {
	hidden := fn.Let(p.norm.Call(features))
	fn.Set(&hidden, p.linear1.Call(hidden))
	fn.Set(&hidden, p.act(hidden))
	fn.Set(&hidden, p.linear2.Call(hidden))
	return hidden
}

// internTiles returns into how many tiles InternVLProcessor cuts an image: get_optimal_tiled_canvas, and the whole image
// at the size of a tile if there are several.
func internTiles(side, height, width int) int {
	if height < 1 || width < 1 {
		return 1
	}
	ratio, area := float64(width)/float64(height), float64(width*height)
	best, tiles := math.Inf(1), 1
	const most = 12
	for n := 1; n <= most; n++ { // by number of tiles, then by width
		for columns := 1; columns <= n; columns++ {
			if n%columns != 0 {
				continue
			}
			diff := math.Abs(ratio - float64(columns)/float64(n/columns))
			if diff < best || diff == best && area > 0.5*float64(side*side*n) {
				best, tiles = diff, n
			}
		}
	}
	if tiles > 1 {
		tiles++
	}
	return tiles
}
