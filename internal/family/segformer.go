// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// SegFormer: transformers/models/segformer/modeling_segformer.py.

// segformerSide is the width and height of images if nothing gives them: the size of SegformerImageProcessor.
const segformerSide = 512

type segformer struct {
	net
	channels, labels int
	height, width    int // of the images
	stages           []*segformerStage
	head             *segformerDecodeHead // only for semantic-segmentation
	classifier       *nn.Linear           // only for image-classification
}

func newSegformer(b *nn.Builder, c *Config, run Run) (Model, error) {
	m := &segformer{net: net{b.W, run}, channels: c.Positive("num_channels", 3), labels: c.labels()}
	m.height, m.width = cmp.Or(run.Images.Height, segformerSide), cmp.Or(run.Images.Width, segformerSide)
	count := c.Positive("num_encoder_blocks", 4)
	list := func(key string, def ...int) []int {
		out := c.sizes(key, def...)
		if len(out) != count {
			c.fail(key, fmt.Sprintf("a list of %d numbers, one for each encoder block", count))
			for len(out) < count {
				out = append(out, 1)
			}
		}
		return out
	}
	depths, widths, heads := list("depths", 2, 2, 2, 2), list("hidden_sizes", 32, 64, 160, 256), list("num_attention_heads", 1, 2, 5, 8)
	patches, strides, ratios := list("patch_sizes", 7, 3, 3, 3), list("strides", 4, 2, 2, 2), list("sr_ratios", 8, 4, 2, 1)
	inner := list("mlp_ratios", 4, 4, 4, 4)
	if !c.Bool("reshape_last_stage", true) {
		c.fail("reshape_last_stage", "true; other values are not simulated")
	}
	if c.labels() == 1 {
		c.fail("num_labels", "at least 2; a single class has another loss, which is not simulated")
	}
	total, first, in := 0, 0, m.channels
	for _, n := range depths {
		total += n
	}
	for i := range count {
		at := fmt.Sprintf("%sstages.%d", m.prefix("segformer"), i)
		s := &segformerStage{Path: shadow.Path(at), m: m}
		s.proj = b.Conv2d(at+".patch_embeddings.proj", in, widths[i], patches[i], shadow.Conv{Stride: strides[i], Padding: patches[i] / 2, Groups: 1}, true)
		s.embedNorm = b.LayerNorm(at+".patch_embeddings.layer_norm", widths[i], true)
		for j := range depths[i] {
			drop := c.Float("drop_path_rate", 0.1) * float64(first+j) / float64(max(total-1, 1))
			s.blocks = append(s.blocks, newSegformerLayer(b, c, m, fmt.Sprintf("%s.blocks.%d", at, j), widths[i], heads[i], ratios[i], inner[i], dropPath(drop)))
		}
		s.norm = b.LayerNorm(at+".layer_norm", widths[i], true)
		m.stages, first, in = append(m.stages, s), first+depths[i], widths[i]
	}
	switch run.Head {
	case Encoder:
	case ImageClassification:
		m.classifier = b.Linear("classifier", in, m.labels, true)
	default:
		m.head = newSegformerDecodeHead(b, c, m, widths)
	}
	return m, nil
}

func (m *segformer) Batch() Batch {
	b := Batch{Pixels: m.w.Input(m.stages[0].proj.Weight.DType(), m.run.Batch, m.channels, m.height, m.width)}
	if m.head == nil {
		b.Labels = m.w.Input(shadow.Int64, m.run.Batch)
	} else {
		b.Labels = m.w.Input(shadow.Int64, m.run.Batch, m.height, m.width)
	}
	return b
}

// Loss is SegformerForSemanticSegmentation.forward or SegformerForImageClassification.forward.
func (m *segformer) Loss(b Batch) *shadow.Tensor {
	if m.head == nil {
		return m.classify(b)
	}
	fn := m.w.Func()
	states := m.forward(fn, b.Pixels)
	if m.keepsBare(states[len(states)-1], nil) {
		return fn.Return(nil)
	}
	m.head.states = states
	logits := fn.Let(m.w.Call(m.head, states[len(states)-1])) // (B, labels, H/4, W/4)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	upsampled := fn.Let(logits.UpsampleBilinear(m.height, m.width)) // (B, labels, H, W)
	return fn.Return(upsampled.CrossEntropyOf(b.Labels, shadow.CrossEntropyLoss{}))
}

func (m *segformer) classify(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	outputs := m.w.Func()
	states := m.forward(outputs, b.Pixels)
	sequence := fn.Let(outputs.Return(states[len(states)-1]))
	fn.Let(sequence) // outputs.last_hidden_state
	if m.keepsBare(sequence, nil) {
		return fn.Return(nil)
	}
	fn.Set(&sequence, sequence.Permute(0, 2, 3, 1))
	fn.Set(&sequence, sequence.Reshape(sequence.Size(0), -1, sequence.Size(3))) // (B, h w, C)
	fn.Set(&sequence, sequence.Mean(false, 1))
	logits := fn.Let(m.classifier.Call(sequence)) // (B, labels)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(m.run.Calling.averaged(logits.View(-1, m.labels).CrossEntropy(b.Labels.View(-1))))
}

// forward is SegformerModel.forward: it returns the result of each stage (B, C, H, W), which caller holds as the hidden
// states of the outputs.
func (m *segformer) forward(caller *shadow.Frame, pixels *shadow.Tensor) (states []*shadow.Tensor) {
	hidden := pixels
	for _, s := range m.stages {
		hidden = caller.Let(m.w.Call(s, hidden))
		states = append(states, hidden)
	}
	return states
}

// segformerStage is SegformerStage with its SegformerOverlapPatchEmbeddings.
type segformerStage struct {
	shadow.Path
	m               *segformer
	proj            *nn.Conv2d
	embedNorm, norm *nn.LayerNorm
	blocks          []*segformerLayer
}

func (s *segformerStage) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	embeds, height, width := s.patches(hidden)
	fn.Set(&hidden, embeds)
	for _, l := range s.blocks {
		l.height, l.width = height, width
		fn.Set(&hidden, s.m.layer(l, hidden))
	}
	fn.Set(&hidden, s.norm.Call(hidden))
	fn.Set(&hidden, hidden.Reshape(hidden.Size(0), height, width, -1).Permute(0, 3, 1, 2).Contiguous())
	return hidden
}

// patches is SegformerOverlapPatchEmbeddings.forward.
func (s *segformerStage) patches(pixels *shadow.Tensor) (embeds *shadow.Tensor, height, width int) {
	w := pixels.World()
	fn := w.Func(pixels)
	embeds = fn.Let(w.Call(s.proj, pixels)) // (B, C, H, W)
	height, width = embeds.Size(2), embeds.Size(3)
	fn.Set(&embeds, embeds.Flatten(2).Transpose(1, 2)) // (B, H W, C)
	fn.Set(&embeds, s.embedNorm.Call(embeds))
	return fn.Return(embeds), height, width
}

// segformerLayer is SegformerLayer.
type segformerLayer struct {
	shadow.Path
	before, after *nn.LayerNorm
	attention     *segformerAttention
	mlp           *segformerMixMLP
	dropPath      dropPath
	dropout       nn.Dropout
	height, width int // patches, in the current forward
}

func newSegformerLayer(b *nn.Builder, c *Config, m *segformer, at string, dim, heads, ratio, mlp int, drop dropPath) *segformerLayer {
	l := &segformerLayer{Path: shadow.Path(at), dropPath: drop, dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0))}
	l.before = b.LayerNorm(at+".layernorm_before", dim, true)
	a := &segformerAttention{Path: shadow.Path(at + ".attention"), m: m, layer: l, dim: c.HeadDim(dim, heads), dropout: c.Float("attention_probs_dropout_prob", 0)}
	a.q = b.Linear(at+".attention.q_proj", dim, dim, true)
	a.k = b.Linear(at+".attention.k_proj", dim, dim, true)
	a.v = b.Linear(at+".attention.v_proj", dim, dim, true)
	a.o = b.Linear(at+".attention.o_proj", dim, dim, true)
	if ratio > 1 {
		r := at + ".attention.sequence_reduction"
		a.reduction = b.Conv2d(r+".sequence_reduction", dim, dim, ratio, shadow.Conv{Stride: ratio, Groups: 1}, true)
		a.norm = b.LayerNorm(r+".layer_norm", dim, true)
	}
	l.attention = a
	l.after = b.LayerNorm(at+".layernorm_after", dim, true)
	l.mlp = &segformerMixMLP{
		Path: shadow.Path(at + ".mlp"), layer: l, act: c.activation("hidden_act", "gelu"), dropout: l.dropout,
		fc1:    b.Linear(at+".mlp.fc1", dim, mlp*dim, true),
		dwconv: b.Conv2d(at+".mlp.dwconv.dwconv", mlp*dim, mlp*dim, 3, shadow.Conv{Stride: 1, Padding: 1, Groups: mlp * dim}, true),
		fc2:    b.Linear(at+".mlp.fc2", mlp*dim, dim, true),
	}
	return l
}

func (l *segformerLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.before.Call(hidden))
	out, weights := w.Call2(l.attention, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.dropout.Call(hidden))
	fn.Set(&hidden, l.dropPath.Call(hidden).Add(residual))

	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.after.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.dropPath.Call(hidden).Add(residual))
	return hidden
}

// segformerAttention is SegformerAttention: keys and values come from a smaller image.
type segformerAttention struct {
	shadow.Path
	m          *segformer
	layer      *segformerLayer
	q, k, v, o *nn.Linear
	reduction  *nn.Conv2d    // nil if the image keeps its size
	norm       *nn.LayerNorm // of the smaller image
	dim        int
	dropout    float64
}

func (a *segformerAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	states := fn.Let(hidden)
	if a.reduction != nil {
		fn.Set(&states, a.reduced(hidden))
	}
	key := fn.Let(a.k.Call(states).View(B, states.Size(1), -1, a.dim).Transpose(1, 2)) // (B, H, K, D)
	value := fn.Let(a.v.Call(states).View(B, states.Size(1), -1, a.dim).Transpose(1, 2))
	out, weights := fn.Let2(a.m.attention(query, key, value, attending{dropout: a.dropout})) // (B, S, H, D)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

// reduced is SegformerSequenceReduction.forward.
func (a *segformerAttention) reduced(hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	B, C := hidden.Size(0), hidden.Size(2)
	fn.Set(&hidden, hidden.Transpose(1, 2).Reshape(B, C, a.layer.height, a.layer.width))
	fn.Set(&hidden, w.Call(a.reduction, hidden))
	fn.Set(&hidden, hidden.Reshape(B, C, -1).Transpose(1, 2))
	fn.Set(&hidden, a.norm.Call(hidden))
	return fn.Return(hidden)
}

// segformerMixMLP is SegformerMixMLP.
type segformerMixMLP struct {
	shadow.Path
	layer    *segformerLayer
	fc1, fc2 *nn.Linear
	dwconv   *nn.Conv2d
	act      activation
	dropout  nn.Dropout
}

func (m *segformerMixMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.fc1.Call(hidden))
	fn.Set(&hidden, m.mixed(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.dropout.Call(hidden))
	fn.Set(&hidden, m.fc2.Call(hidden))
	fn.Set(&hidden, m.dropout.Call(hidden))
	return hidden
}

// mixed is SegformerDepthWiseConv.forward.
func (m *segformerMixMLP) mixed(hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func(hidden)
	fn.Set(&hidden, hidden.Transpose(1, 2).View(hidden.Size(0), hidden.Size(2), m.layer.height, m.layer.width))
	fn.Set(&hidden, w.Call(m.dwconv, hidden))
	fn.Set(&hidden, hidden.Flatten(2).Transpose(1, 2))
	return fn.Return(hidden)
}

// segformerDecodeHead is SegformerDecodeHead.
type segformerDecodeHead struct {
	shadow.Path
	projections []*nn.Linear
	fuse        *nn.Conv2d
	norm        *nn.BatchNorm2d
	dropout     nn.Dropout
	classifier  *nn.Conv2d
	states      []*shadow.Tensor // of the stages, in the current forward
}

func newSegformerDecodeHead(b *nn.Builder, c *Config, m *segformer, widths []int) *segformerDecodeHead {
	at, dim := "decode_head", c.Positive("decoder_hidden_size", 256)
	h := &segformerDecodeHead{Path: shadow.Path(at), dropout: nn.Dropout(c.Float("classifier_dropout_prob", 0.1))}
	for i, width := range widths {
		h.projections = append(h.projections, b.Linear(fmt.Sprintf("%s.linear_projections.%d.proj", at, i), width, dim, true))
	}
	h.fuse = b.Conv2d(at+".linear_fuse", dim*len(widths), dim, 1, shadow.Conv{Stride: 1, Groups: 1}, false)
	h.norm = b.BatchNorm2d(at+".batch_norm", dim)
	h.classifier = b.Conv2d(at+".classifier", dim, m.labels, 1, shadow.Conv{Stride: 1, Groups: 1}, true)
	return h
}

func (h *segformerDecodeHead) Forward(fn *shadow.Frame, last *shadow.Tensor) *shadow.Tensor {
	w := last.World()
	rows, columns := h.states[0].Size(2), h.states[0].Size(3)
	var all []*shadow.Tensor
	var state *shadow.Tensor
	for i, s := range h.states {
		fn.Set(&state, h.project(i, s))
		fn.Set(&state, state.Transpose(1, 2))
		fn.Set(&state, state.Reshape(s.Size(0), -1, s.Size(2), s.Size(3)))
		fn.Set(&state, state.UpsampleBilinear(rows, columns))
		all = append([]*shadow.Tensor{fn.Let(state)}, all...)
	}
	var hidden *shadow.Tensor
	fn.Set(&hidden, w.Call(h.fuse, shadow.Cat(1, all...)))
	fn.Set(&hidden, w.Call(h.norm, hidden))
	fn.Set(&hidden, hidden.ReLU())
	fn.Set(&hidden, h.dropout.Call(hidden))
	return w.Call(h.classifier, hidden) // (B, labels, H, W)
}

// project is SegformerMLP.forward.
func (h *segformerDecodeHead) project(i int, state *shadow.Tensor) *shadow.Tensor {
	fn := state.World().Func(state)
	fn.Set(&state, state.Flatten(2).Transpose(1, 2))
	fn.Set(&state, h.projections[i].Call(state))
	return fn.Return(state)
}
