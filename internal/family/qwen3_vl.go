// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"
	"math"
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Qwen3-VL: transformers/models/qwen3_vl/modular_qwen3_vl.py. It is Qwen3 with a vision tower like that of Qwen2-VL, which
// also has learned positions, resampled to each image's size. Features from some of the tower's blocks are added to the
// hidden states after the first decoder layers (deepstack).

type qwen3VL struct {
	*qwenVL
	deep *qwenDeepstack
}

// qwenDeepstack has the mergers of the tower's blocks whose features are added to the text.
type qwenDeepstack struct {
	after    []int // indices of the blocks
	mergers  []*qwenDeepMerger
	features []*shadow.Tensor // of the current forward
}

func newQwen3VL(b *nn.Builder, c *Config, run Run) (Model, error) {
	v := c.within("vision_config")
	visual := newQwenVisual(b, v, run, qwenTower{
		width: v.Positive("hidden_size", 1152), out: v.Positive("out_hidden_size", 3584), depth: 27, patch: 16, bias: true,
	})
	width, inter := visual.width, v.Positive("intermediate_size", 4304)
	visual.learned = b.Embedding("model.visual.pos_embed", v.Positive("num_position_embeddings", 2304), width)
	visual.side = int(math.Sqrt(float64(visual.learned.Weight.Size(0))))
	act := v.activation("hidden_act", "gelu_pytorch_tanh")
	visual.makeBlocks(b, v, func(at string) shadow.Module { return b.LayerNorm(at, width, true) }, func(at string) shadow.Module {
		return &vitMLP{Path: shadow.Path(at), act: act, fc1: b.Linear(at+".linear_fc1", width, inter, true), fc2: b.Linear(at+".linear_fc2", inter, width, true)}
	})
	visual.last = newQwenDeepMerger(b, "model.visual.merger", visual, false)
	deep := &qwenDeepstack{after: v.Ints("deepstack_visual_indexes")}
	if deep.after == nil && !v.Has("deepstack_visual_indexes") {
		deep.after = []int{8, 16, 24}
	}
	for i := range deep.after {
		deep.mergers = append(deep.mergers, newQwenDeepMerger(b, fmt.Sprintf("model.visual.deepstack_merger_list.%d", i), visual, true))
	}
	visual.deep = deep
	frequencies(b.W, v.HeadDim(width, visual.heads)/2).Drop()

	t := c.text()
	s := readDecoder(t, llamaShape{hidden: 4096, layers: 32, heads: 32, kv: 32, inter: 22016, vocab: 151936})
	s.dim, s.headNorm = t.Positive("head_dim", 128), true
	s.qkvBias = t.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	m := &qwenVL{visual: visual, merge: visual.merge, interleaved: true}
	m.makeText(b, c, t, run, s)
	return &qwen3VL{m, deep}, nil
}

// Loss is Qwen3VLForConditionalGeneration.forward.
func (m *qwen3VL) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is Qwen3VLModel.forward.
func (m *qwen3VL) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	if b.Pixels == nil {
		return fn.Return(m.decodeDeep(embeds, b.Mask, nil, nil))
	}
	outputs := m.imageFeatures(b, true)
	for _, x := range outputs {
		fn.Let(x)
	}
	for _, x := range m.deep.features { // the outputs hold them too
		fn.Let(x)
		x.Drop()
	}
	features := fn.Let(shadow.Cat(0, outputs[:len(outputs)-1]...).To(embeds.DType()))
	image, video := m.placeholders(b.IDs, features)
	fn.Let(image)
	fn.Let(video)
	fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	fn.Set(&image, image.Select(2, 0))
	pos := fn.Let(m.positions3D(b))
	return fn.Return(m.decodeDeep(embeds, b.Mask, pos, image))
}

// decodeDeep is Qwen3VLTextModel.forward.
func (m *qwen3VL) decodeDeep(embeds, mask, pos, image *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(embeds, mask, pos, image)
	var text *shadow.Tensor
	if pos == nil {
		fn.Set(&pos, m.w.Arange(m.run.Seq).AddScalar())
		fn.Set(&pos, pos.View(1, 1, -1).Expand(4, embeds.Size(0), -1))
		text = fn.Let(pos.Select(0, 0))
		fn.Set(&pos, pos.Slice(0, 1, 4))
	}
	m.masks.create(fn, m.net, embeds, mask, text)
	hidden := fn.Let(embeds)
	r := m.rope
	r.cos, r.sin = fn.Let2(r.forward(hidden, pos))
	var outputs *shadow.Tensor
	for i, l := range m.layers {
		fn.Set(&outputs, m.layer(l, hidden, r.cos, r.sin, m.masks.full))
		fn.Set(&hidden, outputs)
		if image != nil && i < len(m.deep.features) {
			fn.Set(&hidden, deepstack(hidden, image, m.deep.features[i]))
		}
	}
	fn.Set(&hidden, m.w.Call(m.norm, hidden))
	return fn.Return(hidden)
}

// deepstack is _deepstack_process: features are added to the hidden states of the image's tokens.
func deepstack(hidden, image, features *shadow.Tensor) *shadow.Tensor {
	fn := hidden.World().Func(hidden, image, features)
	fn.Set(&features, features.To(hidden.DType()))
	fn.Set(&hidden, hidden.Clone())
	local := fn.Let(hidden.MaskedSome(image, features.Size(0)).Add(features))
	hidden.PutMaskedInto(image, local)
	return fn.Return(hidden)
}

// qwenDeepMerger is Qwen3VLVisionPatchMerger. Mergers of the deepstack normalize after joining the patches.
type qwenDeepMerger struct {
	shadow.Path
	wide     int
	joined   bool
	norm     *nn.LayerNorm
	fc1, fc2 *nn.Linear
}

func newQwenDeepMerger(b *nn.Builder, at string, v *qwenVisual, joined bool) *qwenDeepMerger {
	wide := v.width * v.merge * v.merge
	width := v.width
	if joined {
		width = wide
	}
	return &qwenDeepMerger{
		Path: shadow.Path(at), wide: wide, joined: joined, norm: b.LayerNorm(at+".norm", width, true),
		fc1: b.Linear(at+".linear_fc1", wide, wide, true), fc2: b.Linear(at+".linear_fc2", wide, v.out, true),
	}
}

func (m *qwenDeepMerger) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if m.joined {
		fn.Set(&x, m.norm.Call(x.View(-1, m.wide)).View(-1, m.wide))
	} else {
		fn.Set(&x, m.norm.Call(x).View(-1, m.wide))
	}
	fn.Set(&x, m.fc2.Call(m.fc1.Call(x).GELU()))
	return x
}

// keep runs the merger of a block, if it has one, and keeps the features.
func (d *qwenDeepstack) keep(w *shadow.World, block int, hidden *shadow.Tensor) {
	if d == nil {
		return
	}
	if i := slices.Index(d.after, block); i >= 0 {
		d.features = append(d.features, w.Call(d.mergers[i], hidden).Hold())
	}
}
