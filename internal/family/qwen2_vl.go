// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Qwen2-VL: transformers/models/qwen2_vl/modeling_qwen2_vl.py. A vision tower turns each image into features, which
// replace the embeddings of its image tokens in Qwen2; positions have three dimensions. Videos are not simulated.

type qwenVL struct {
	*llama
	visual *qwenVisual
	rope   *multimodalRotary
	merge  int            // patches along each side of a token
	deltas *shadow.Tensor // rope_deltas, which the model keeps until the next forward

	interleaved bool // frequencies of time, height and width alternate
}

func newQwen2VL(b *nn.Builder, c *Config, run Run) (Model, error) {
	v := c.within("vision_config")
	m := &qwenVL{visual: newQwenVisual(b, v, run, qwenTower{
		width: v.Positive("embed_dim", 1280), out: v.Positive("hidden_size", 3584), depth: 32,
	})}
	width := m.visual.width
	inter := int(float64(width) * v.Float("mlp_ratio", 4))
	act := v.activation("hidden_act", "quick_gelu")
	m.visual.build(b, v, func(at string) shadow.Module { return b.LayerNorm(at, width, true) }, func(at string) shadow.Module {
		return &vitMLP{Path: shadow.Path(at), act: act, fc1: b.Linear(at+".fc1", width, inter, true), fc2: b.Linear(at+".fc2", inter, width, true)}
	})
	m.text(b, c, run)
	return m, nil
}

// text makes Qwen2VLTextModel and the head.
func (m *qwenVL) text(b *nn.Builder, c *Config, run Run) {
	t := c.text()
	s := readDecoder(t, llamaShape{hidden: 8192, layers: 80, heads: 64, kv: 8, inter: 29568, vocab: 152064})
	s.dim, s.qkvBias = t.HeadDim(s.hidden, s.heads), true
	s.masks = qwenMasks(t, s.layers, 80)
	s.attention = func(a *llamaAttention) shadow.Module2 { return &qwenVLAttention{a} }
	m.makeText(b, c, t, run, s)
}

// makeText makes the text model from its shape.
func (m *qwenVL) makeText(b *nn.Builder, c, t *Config, run Run, s llamaShape) {
	m.merge, run.path = m.visual.merge, "model.language_model"
	m.llama = newLlamaLike(b, tiedWith(t, c), run, s)
	m.rope = &multimodalRotary{rotary: m.llama.rotary.full, sections: t.sections(s.dim), interleaved: m.interleaved}
	b.Inputs(m.llama.embed)
	if run.Images.Count > 0 && m.visual.out != s.hidden && c.err == nil {
		c.err = fmt.Errorf("the vision tower's features have %d elements, but the text model's embeddings have %d", m.visual.out, s.hidden)
	}
}

// tiedWith returns the text config, with tie_word_embeddings if the whole model's config has it.
func tiedWith(text, whole *Config) *Config {
	if whole.Bool("tie_word_embeddings", false) {
		text = text.with("tie_word_embeddings", true)
	}
	return text
}

// sections returns mrope_section: how many frequencies belong to time, height and width.
func (c *Config) sections(dim int) []int {
	rope := NewConfig(map[string]any{"mrope_section": c.ropeKey("mrope_section")})
	s := rope.Ints("mrope_section")
	if s == nil { // [16, 24, 24] in a head of 128
		s = []int{dim / 8, dim / 8 * 3 / 2, dim/2 - dim/8 - dim/8*3/2}
	}
	sum := 0
	for _, n := range s {
		sum += n
	}
	if (len(s) != 3 || 2*sum != dim) && c.err == nil {
		c.err = fmt.Errorf("mrope_section %v must be three numbers with a sum of %d, half of a head", s, dim/2)
		s = []int{dim / 2, 0, 0}
	}
	return s
}

// Batch makes the tensors that Qwen2VLProcessor returns if there are images.
func (m *qwenVL) Batch() Batch {
	if m.run.Images.Count == 0 {
		return m.textBatch()
	}
	n, h, w := m.images()
	b := Batch{IDs: m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)}
	if m.run.Mask {
		b.Mask = m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	}
	b.Kinds = m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	b.Pixels = m.w.Input(shadow.Float32, n*h*w, m.visual.patch.numbers())
	b.Grid = m.w.Input(shadow.Int64, n, 3)
	b.Labels = m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	return b
}

// images returns the number of images in the batch, and their patches in both directions.
func (m *qwenVL) images() (n, h, w int) {
	i := m.run.Images
	return m.run.Batch * i.Count, i.Height / m.visual.patch.side, i.Width / m.visual.patch.side
}

// Loss is Qwen2VLForConditionalGeneration.forward.
func (m *qwenVL) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is Qwen2VLModel.forward.
func (m *qwenVL) forward(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	var pos *shadow.Tensor
	if b.Pixels != nil {
		each := m.imageFeatures(b, false)
		of := m.w.Func(each...)
		features := fn.Let(shadow.Cat(0, each...).To(embeds.DType()))
		of.Return(nil)
		image, video := m.placeholders(b.IDs, features)
		fn.Let(image)
		fn.Let(video)
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
		pos = m.positions3D(b)
		fn.Let(pos)
	}
	return fn.Return(m.decode(embeds, b.Mask, pos))
}

// imageFeatures is get_image_features: the features of each image, and the tower's last hidden states if the caller
// keeps them.
func (m *qwenVL) imageFeatures(b Batch, keeps bool) []*shadow.Tensor {
	fn := m.w.Func()
	pixels := fn.Let(b.Pixels.To(m.visual.embed.Weight.DType()))
	n, h, w := m.images()
	hidden, merged := fn.Let2(m.visual.forward(pixels, b.Grid, h, w))
	shadow.Item(b.Grid.Prod().FloorDivide())
	out := merged.Split(0, repeated(m.imageTokens(), n)...)
	if keeps {
		out = append(out, hidden)
	}
	return fn.Returns(out...)
}

// placeholders is get_placeholder_mask: masks of the image tokens and of the video tokens. It checks that there are as
// many tokens as features.
func (n net) placeholders(ids, features *shadow.Tensor) (image, video *shadow.Tensor) {
	fn := n.w.Func(ids, features)
	fn.Set(&image, ids.Compare("eq"))
	fn.Set(&video, ids.Compare("eq"))
	images := fn.Let(image.SumAll())
	fn.Set(&image, image.Unsqueeze(-1))
	n.checkCount(images)
	fn.Let(video.SumAll())
	fn.Set(&video, video.Unsqueeze(-1))
	return fn.Return2(image, video)
}

// checkCount is torch_compilable_check of a number of tokens against a number of features.
func (n net) checkCount(tokens *shadow.Tensor) {
	fn := n.w.Func(tokens)
	cond := fn.Let(tokens.MulScalar().Compare("eq"))
	shadow.Item(cond.All())
	fn.Return(nil)
}

// decode is Qwen2VLTextModel.forward.
func (m *qwenVL) decode(embeds, mask, pos *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(embeds, mask, pos)
	if pos == nil {
		fn.Set(&pos, m.w.Arange(m.run.Seq).AddScalar())
		fn.Set(&pos, pos.View(1, 1, -1).Expand(3, embeds.Size(0), -1))
	}
	m.masks.create(fn, m.net, embeds, mask, nil)
	hidden := fn.Let(embeds)
	r := m.rope
	r.cos, r.sin = fn.Let2(r.forward(hidden, pos))
	for i, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden, r.cos, r.sin, m.masks.of(m.masks.windows[i])))
	}
	fn.Set(&hidden, m.w.Call(m.norm, hidden))
	return fn.Return(hidden)
}

// qwenVLAttention is Qwen2VLAttention: it computes queries, keys and values before it reshapes any.
type qwenVLAttention struct{ *llamaAttention }

func (a *qwenVLAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query, key, value := fn.Let(a.q.Call(hidden)), fn.Let(a.k.Call(hidden)), fn.Let(a.v.Call(hidden))
	for _, x := range []**shadow.Tensor{&query, &key, &value} {
		fn.Set(x, (*x).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	}
	return a.attend(fn, &query, &key, value)
}

// multimodalRotary is Qwen2VLRotaryEmbedding: positions in time, height and width each rotate some of the frequencies.
type multimodalRotary struct {
	*rotary
	sections    []int
	interleaved bool
}

func (r *multimodalRotary) forward(x, pos *shadow.Tensor) (cos, sin *shadow.Tensor) {
	if r.measures {
		r.measure(pos)
	}
	fn := x.World().Func(x, pos)
	defer x.World().NoGrad()()
	freq := fn.Let(r.invFreq.Unsqueeze(0).Unsqueeze(1).Unsqueeze(3).Float().Expand(3, pos.Size(1), -1, 1))
	at := fn.Let(pos.Unsqueeze(2).To(shadow.Float32)) // (3, B, 1, S)
	x.World().Autocast(shadow.None, func() {
		freqs := fn.Let(freq.Matmul(at).Transpose(2, 3)) // (3, B, S, D/2)
		fn.Set(&cos, freqs.Cos().MulScalar())
		fn.Set(&sin, freqs.Sin().MulScalar())
	})
	fn.Set(&sin, r.recompose(sin))
	fn.Set(&cos, r.recompose(cos))
	return fn.Return2(cos.To(x.DType()), sin.To(x.DType()))
}

// recompose is recomposition_frequencies.
func (r *multimodalRotary) recompose(freq *shadow.Tensor) *shadow.Tensor {
	fn := freq.World().Func(freq)
	if r.interleaved { // frequencies of height and width are written over those of time
		times := fn.Let(freq.Select(0, 0))
		return fn.Return(shadow.Cat(-1, times, times))
	}
	parts := freq.Split(-1, r.sections...)
	for i, p := range parts {
		parts[i] = p.Select(0, i%3)
	}
	fn.Set(&freq, shadow.Cat(-1, parts...))
	return fn.Return(shadow.Cat(-1, freq, freq)) // (B, S, D)
}
