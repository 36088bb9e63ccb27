// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"
	"math"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// LLaVA-NeXT: transformers/models/llava_next/modeling_llava_next.py. It is LLaVA with images cut into tiles, all of which
// the tower sees, after the whole image at the size of a tile. A learned feature ends each line of the tiles' features.

type llavaNext struct {
	*llava
	newline *shadow.Tensor // (H)
	tiles   llavaTiles
}

func newLLaVANext(b *nn.Builder, c *Config, run Run) (Model, error) {
	t := c.within("text_config")
	m := &llavaNext{llava: &llava{}}
	m.addVision(b, c, run)
	if m.whole && m.tower.sizes().class {
		c.fail("vision_feature_select_strategy", "default; the class token among the features of tiles is not simulated")
	}
	if run.Images.Count > 0 {
		m.tiles = c.cut(m.tower.sizes(), run.Images.Height, run.Images.Width)
	}
	m.newline = b.Parameter("model.image_newline", t.Positive("hidden_size", 4096))
	var err error
	if m.llama, err = newTextModel(b, t, run, "llama", c.Bool("tie_word_embeddings", false)); err != nil {
		return nil, err
	}
	return m, nil
}

// Batch makes the tensors that LlavaNextProcessor returns.
func (m *llavaNext) Batch() Batch {
	if m.run.Images.Count == 0 {
		return m.textBatch()
	}
	s, n := m.tower.sizes(), m.run.Batch*m.run.Images.Count
	b := Batch{IDs: m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)}
	if m.run.Mask {
		b.Mask = m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	}
	b.Pixels = m.w.Input(shadow.Float32, n, 1+m.tiles.rows*m.tiles.columns, s.channels, s.image, s.image)
	b.Grid = m.w.Input(shadow.Int64, n, 2) // image_sizes
	b.Labels = m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	return b
}

// Loss is LlavaNextForConditionalGeneration.forward.
func (m *llavaNext) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden, _ := fn.Let2(m.forward(b)) // the outputs have image_hidden_states
	return fn.Return(m.head.loss(hidden, b))
}

// forward is LlavaNextModel.forward.
func (m *llavaNext) forward(b Batch) (hidden, features *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	if b.Pixels != nil {
		list := m.imageFeatures(b)
		of := m.w.Func(list...)
		features = fn.Let(shadow.Cat(0, list...).To(embeds.DType()))
		of.Return(nil)
		image := fn.Let(m.imageTokens(b.IDs))
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	}
	hidden = fn.Let(m.fromEmbeds(textInput{embeds: embeds, mask: b.Mask}))
	return fn.Return2(hidden, features)
}

// imageFeatures is get_image_features: the features of each image.
func (m *llavaNext) imageFeatures(b Batch) []*shadow.Tensor {
	pixels := b.Pixels
	fn := m.w.Func(pixels)
	fn.Set(&pixels, shadow.Cat(0, pixels.Unbind(0)...)) // (all tiles, channels, height, width)
	outputs := m.tower.forward(pixels, true).bind(fn)
	selected := fn.Let(m.selected(outputs))
	features := fn.Let(m.w.Call(m.projector, selected))
	each := features.Split(0, repeated(b.Pixels.Size(1), b.Pixels.Size(0))...)
	for _, x := range each {
		fn.Let(x)
	}
	fn.Del(&features)
	return fn.Returns(m.pack(each)...)
}

// pack is pack_image_features: the features of each image in one sequence.
func (m *llavaNext) pack(each []*shadow.Tensor) []*shadow.Tensor {
	fn := m.w.Func(each...)
	var base, image *shadow.Tensor
	out := make([]*shadow.Tensor, len(each))
	for i, features := range each {
		fn.Set(&base, features.Select(0, 0))
		fn.Set(&image, features.Slice(0, 1, features.Size(0)))
		fn.Set(&image, m.joined(image))
		fn.Set(&image, m.unpadded(image))
		fn.Set(&image, shadow.Cat(-1, image, m.newline.Unsqueeze(1).Unsqueeze(2).Expand(image.Size(0), image.Size(1), 1).To(image.DType())))
		fn.Set(&image, image.Flatten(1).Transpose(0, 1))
		fn.Set(&image, shadow.Cat(0, base, image))
		out[i] = fn.Let(image)
	}
	m.w.Full(shadow.Int64, len(each)).Hold().Drop() // feature_lens
	return fn.Returns(out...)
}

// joined arranges the features of tiles as those of one image: (H, rows, columns).
func (m *llavaNext) joined(tiles *shadow.Tensor) *shadow.Tensor {
	side := m.tower.sizes().side
	return tiles.View(m.tiles.rows, m.tiles.columns, side, side, -1).Permute(4, 0, 2, 1, 3).Contiguous().View(-1, m.tiles.rows*side, m.tiles.columns*side)
}

// unpadded is unpad_image: it cuts off the margins of an image whose aspect ratio differs from that of its
// tiles.
func (m *llavaNext) unpadded(image *shadow.Tensor) *shadow.Tensor {
	t := m.tiles
	if t.wide {
		return image.Slice(1, t.margin, image.Size(1)-t.margin)
	}
	return image.Slice(2, t.margin, image.Size(2)-t.margin)
}

// llavaTiles describes how an image is cut into tiles.
type llavaTiles struct {
	rows, columns int
	wide          bool // the margins are above and below the image
	margin        int  // features that belong to no part of the image, on each of two sides
	tokens        int  // of the image
}

// cut returns the tiles of an image: get_anyres_image_grid_shape, and the sizes that unpad_image computes.
func (c *Config) cut(s towerSize, height, width int) llavaTiles {
	best := c.bestResolution(height, width)
	t := llavaTiles{rows: best[0] / s.image, columns: best[1] / s.image}
	if t.rows < 1 || t.columns < 1 {
		c.fail("image_grid_pinpoints", fmt.Sprintf("sizes in multiples of image_size, which is %d", s.image))
		t.rows, t.columns = max(t.rows, 1), max(t.columns, 1)
	}
	rows, columns := t.rows*s.side, t.columns*s.side
	h, w := float64(height), float64(width)
	if t.wide = w/h > float64(columns)/float64(rows); t.wide {
		t.margin = (rows - rounded7(h*(float64(columns)/w))) / 2
		rows -= 2 * t.margin
	} else {
		t.margin = (columns - rounded7(w*(float64(rows)/h))) / 2
		columns -= 2 * t.margin
	}
	t.tokens = s.side*s.side + rows*(columns+1)
	return t
}

// rounded7 is int(round(x, 7)).
func rounded7(x float64) int { return int(math.RoundToEven(x*1e7) / 1e7) }

// bestResolution is select_best_resolution: the size among image_grid_pinpoints that keeps most of an image, and of those
// the one with the smallest margins.
func (c *Config) bestResolution(height, width int) (best [2]int) {
	most, least := 0, math.MaxInt
	for _, size := range c.pinpoints() {
		scale := min(float64(size[1])/float64(width), float64(size[0])/float64(height))
		kept := min(int(float64(width)*scale)*int(float64(height)*scale), width*height)
		wasted := size[0]*size[1] - kept
		if kept > most || kept == most && wasted < least {
			most, least, best = kept, wasted, size
		}
	}
	return best
}

// pinpoints reads image_grid_pinpoints.
func (c *Config) pinpoints() [][2]int {
	list, _ := c.keys["image_grid_pinpoints"].([]any)
	if list == nil {
		return [][2]int{{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}}
	}
	var out [][2]int
	for _, p := range list {
		size := NewConfig(map[string]any{"size": p}).Ints("size")
		if len(size) != 2 || size[0] < 1 || size[1] < 1 {
			c.fail("image_grid_pinpoints", "a list of heights and widths")
			return [][2]int{{336, 336}}
		}
		out = append(out, [2]int{size[0], size[1]})
	}
	return out
}
