// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Swin: transformers/models/swin/modeling_swin.py.

type swin struct {
	net
	channels, labels int
	height, width    int // of the images
	embed            *swinEmbeddings
	layers           []*swinStage
	norm             *nn.LayerNorm
	classifier       *nn.Linear // nil without a head
	unpooled         bool       // add_pooling_layer is off
}

func newSwin(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Checkpointing && run.Adapts {
		return nil, refuse("checkpointing", "transformers stops with an error if checkpointing is on and swin has adapters; turn it off")
	}
	if run.Checkpointing && run.Reentrant {
		return nil, refuse("use_reentrant", "reentrant checkpoints inside others, as swin has them, are not simulated; turn it off")
	}
	if run.Attention == "flash" {
		return nil, refuse("attention", "swin does not support flash attention because of its position bias; use sdpa or eager")
	}
	side, dim := c.Positive("image_size", ImageNetSide), c.Positive("embed_dim", 96)
	m := &swin{net: net{b.W, run}, channels: c.Positive("num_channels", 3), labels: c.labels()}
	m.height, m.width = cmp.Or(run.Images.Height, side), cmp.Or(run.Images.Width, side)
	m.embed = newSwinEmbeddings(b, c, m, side, dim)
	depths, heads := c.sizes("depths", 2, 2, 6, 2), c.sizes("num_heads", 3, 6, 12, 24)
	if len(depths) != len(heads) {
		c.fail("num_heads", "a list with one entry for each entry of depths")
		heads = depths
	}
	total, first := 0, 0
	for _, n := range depths {
		total += n
	}
	window := c.Positive("window_size", 7)
	height, width := m.embed.grid(m.height, m.width)
	for i, depth := range depths {
		if least := min(height, width); least < window {
			return nil, refuse("image_size", "stage %d of swin sees images of %d patches, less than a window of %d, and crashes", i+1, least, window)
		}
		height, width = (height+1)/2, (width+1)/2
		s := &swinStage{Path: shadow.Path(fmt.Sprintf("%sencoder.layers.%d", m.prefix("swin"), i)), m: m}
		for j := range depth {
			drop := c.Float("drop_path_rate", 0.1) * float64(first+j) / float64(max(total-1, 1))
			s.blocks = append(s.blocks, newSwinLayer(b, c, m, fmt.Sprintf("%s.blocks.%d", s.Path, j), dim, heads[i], j%2 == 1 && window > 1, dropPath(drop)))
		}
		if i < len(depths)-1 {
			s.downsample = &swinPatchMerging{
				Path:      s.Path + ".downsample",
				reduction: b.Linear(string(s.Path)+".downsample.reduction", 4*dim, 2*dim, false),
				norm:      b.LayerNorm(string(s.Path)+".downsample.norm", 4*dim, true),
			}
			dim *= 2
		}
		m.layers, first = append(m.layers, s), first+depth
	}
	c.defaulted("hidden_size", dim) // the configuration computes it
	m.norm = b.LayerNorm(m.prefix("swin")+"layernorm", dim, true)
	if run.Head == Encoder {
		m.unpooled = !c.Bool("add_pooling_layer", true)
	} else {
		m.classifier = b.Linear("classifier", dim, m.labels, true)
	}
	return m, nil
}

func (m *swin) Batch() Batch {
	return Batch{
		Pixels: m.w.Input(m.norm.Weight.DType(), m.run.Batch, m.channels, m.height, m.width),
		Labels: m.w.Input(shadow.Int64, m.run.Batch),
	}
}

// Loss is SwinForImageClassification.forward.
func (m *swin) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	sequence, pooled := fn.Let2(m.forward(b.Pixels))
	fn.Let(sequence) // outputs.last_hidden_state
	if m.keepsBare(sequence, pooled) {
		return fn.Return(nil)
	}
	logits := fn.Let(m.classifier.Call(pooled)) // (B, labels)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(m.run.Calling.averaged(logits.View(-1, m.labels).CrossEntropy(b.Labels.View(-1))))
}

// forward is SwinModel.forward. The last stage's reshaped hidden states are freed when the encoder returns, because
// hidden states were not requested.
func (m *swin) forward(pixels *shadow.Tensor) (sequence, pooled *shadow.Tensor) {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.w.Call(m.embed, pixels)) // (B, n m, C)
	encoded := fn.Let(m.encode(embeds))
	fn.Set(&sequence, m.norm.Call(encoded))
	if m.unpooled {
		return fn.Return2(sequence, nil)
	}
	fn.Set(&pooled, sequence.Transpose(1, 2).Unsqueeze(-2).AdaptiveAvgPool2d().Squeeze(-2)) // AdaptiveAvgPool1d(1)
	fn.Set(&pooled, pooled.Flatten(1))                                                      // (B, C)
	return fn.Return2(sequence, pooled)
}

// encode is SwinEncoder.forward.
func (m *swin) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	height, width := m.embed.grid(m.height, m.width)
	var reshaped *shadow.Tensor
	for _, s := range m.layers {
		s.height, s.width = height, width
		out, spatial := m.layerWeights(s, hidden)
		fn.Set2(&hidden, out, &reshaped, spatial)
		height, width = (height+1)/2, (width+1)/2
	}
	return fn.Return(hidden)
}

// swinEmbeddings is SwinEmbeddings with its SwinPatchEmbeddings.
type swinEmbeddings struct {
	shadow.Path
	m          *swin
	patch      int
	projection *nn.Conv2d
	positions  *shadow.Tensor // nil without absolute positions
	norm       *nn.LayerNorm
	dropout    nn.Dropout
}

func newSwinEmbeddings(b *nn.Builder, c *Config, m *swin, side, dim int) *swinEmbeddings {
	at := m.prefix("swin") + "embeddings"
	e := &swinEmbeddings{Path: shadow.Path(at), m: m, patch: c.Positive("patch_size", 4), dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0))}
	if c.Bool("use_absolute_embeddings", false) {
		e.positions = b.Parameter(at+".position_embeddings", 1, (side/e.patch)*(side/e.patch), dim)
		if m.height != side || m.width != side {
			c.fail("use_absolute_embeddings", "false for images of another size than image_size")
		}
	}
	e.projection = b.Conv2d(at+".patch_embeddings.projection", m.channels, dim, e.patch, shadow.Conv{Stride: e.patch, Groups: 1}, true)
	e.norm = b.LayerNorm(at+".norm", dim, true)
	return e
}

// grid returns the number of patches in an image.
func (e *swinEmbeddings) grid(height, width int) (rows, columns int) {
	return (height + e.patch - 1) / e.patch, (width + e.patch - 1) / e.patch
}

func (e *swinEmbeddings) Forward(fn *shadow.Frame, pixels *shadow.Tensor) *shadow.Tensor {
	embeds := fn.Let(e.patches(pixels))
	fn.Set(&embeds, e.norm.Call(embeds))
	if e.positions != nil {
		fn.Set(&embeds, embeds.Add(e.positions))
	}
	fn.Set(&embeds, e.dropout.Call(embeds))
	return embeds
}

// patches is SwinPatchEmbeddings.forward.
func (e *swinEmbeddings) patches(pixels *shadow.Tensor) *shadow.Tensor {
	w := pixels.World()
	fn := w.Func(pixels)
	if more := -pixels.Size(3) % e.patch; more != 0 {
		fn.Set(&pixels, pixels.PadDim(3, 0, e.patch+more))
	}
	if more := -pixels.Size(2) % e.patch; more != 0 {
		fn.Set(&pixels, pixels.PadDim(2, 0, e.patch+more))
	}
	embeds := fn.Let(w.Call(e.projection, pixels)) // (B, C, n, m)
	fn.Set(&embeds, embeds.View(embeds.Size(0), embeds.Size(1), -1).Transpose(1, 2))
	return fn.Return(embeds)
}

// swinStage is SwinStage.
type swinStage struct {
	shadow.Path
	m             *swin
	blocks        []*swinLayer
	downsample    *swinPatchMerging // nil in the last stage
	height, width int               // patches, in the current forward
}

// Forward returns the stage's result, and the same result as images.
func (s *swinStage) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w := hidden.World()
	var weights *shadow.Tensor
	for _, l := range s.blocks {
		l.height, l.width = s.height, s.width
		out, of := s.m.layerWeights(l, hidden)
		fn.Set2(&hidden, out, &weights, of)
	}
	fn.Let(hidden) // hidden_states_before_downsampling
	height, width := s.height, s.width
	if s.downsample != nil {
		s.downsample.height, s.downsample.width = height, width
		fn.Set(&hidden, w.Call(s.downsample, hidden))
		height, width = (height+1)/2, (width+1)/2
	}
	B, C := hidden.Size(0), hidden.Size(2)
	return hidden, fn.Let(hidden.View(B, height, width, C).Permute(0, 3, 1, 2).Contiguous())
}

// swinPatchMerging is SwinPatchMerging: four neighbors become one.
type swinPatchMerging struct {
	shadow.Path
	reduction     *nn.Linear
	norm          *nn.LayerNorm
	height, width int // patches, in the current forward
}

func (p *swinPatchMerging) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	B, C := input.Size(0), input.Size(2)
	fn.Set(&input, input.View(B, p.height, p.width, C))
	if p.height%2 == 1 || p.width%2 == 1 {
		fn.Set(&input, input.PadPlane(p.height%2, p.width%2))
	}
	var parts []*shadow.Tensor
	for column := range 2 {
		for row := range 2 {
			part := input.SliceStep(1, row, input.Size(1), 2).SliceStep(2, column, input.Size(2), 2)
			parts = append(parts, part)
		}
	}
	fn.Set(&input, shadow.Cat(-1, parts...)) // (B, n/2, m/2, 4 C)
	fn.Set(&input, input.View(B, -1, 4*C))
	fn.Set(&input, p.norm.Call(input))
	fn.Set(&input, p.reduction.Call(input))
	return input
}

// swinLayer is SwinLayer.
type swinLayer struct {
	shadow.Path
	attention     *swinAttention
	before, after *nn.LayerNorm
	mlp           *vitMLP
	dropout       nn.Dropout
	window        int
	shifts        bool
	dropPath      dropPath
	height, width int // patches, in the current forward
}

func newSwinLayer(b *nn.Builder, c *Config, m *swin, at string, dim, heads int, shifts bool, drop dropPath) *swinLayer {
	l := &swinLayer{Path: shadow.Path(at), window: c.Positive("window_size", 7), shifts: shifts, dropPath: drop, dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0))}
	l.attention = newSwinAttention(b, c, m, at+".attention", dim, heads, l.window)
	l.before = b.LayerNorm(at+".layernorm_before", dim, true)
	l.after = b.LayerNorm(at+".layernorm_after", dim, true)
	inner := int(float64(dim) * c.Float("mlp_ratio", 4))
	l.mlp = &vitMLP{
		Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_act", "gelu"),
		fc1: b.Linear(at+".mlp.fc1", dim, inner, true),
		fc2: b.Linear(at+".mlp.fc2", inner, dim, true),
	}
	return l
}

// Forward is SwinLayer.forward. A window as large as the image needs no shift.
func (l *swinLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w, B, C := hidden.World(), hidden.Size(0), hidden.Size(2)
	window, shift := l.window, l.shifts
	if least := min(l.height, l.width); least <= window {
		window, shift = least, false
	}
	shortcut := fn.Let(hidden)
	fn.Set(&hidden, l.before.Call(hidden))
	fn.Set(&hidden, hidden.View(B, l.height, l.width, C))
	fn.Set(&hidden, hidden.PadPlane(padding(l.height, window), padding(l.width, window)))
	height, width := hidden.Size(1), hidden.Size(2)

	windows := fn.Let(partition(shifted(hidden, shift), window))
	fn.Set(&windows, windows.View(-1, window*window, C))
	var mask *shadow.Tensor
	if shift {
		mask = fn.Let(l.mask(w, height, width, window, hidden.DType()))
	}
	l.attention.mask = mask
	out, weights := fn.Let2(w.Call2(l.attention, windows))
	fn.Set(&out, l.dropout.Call(out))

	attended := fn.Let(out.View(-1, window, window, C))
	fn.Set(&attended, shifted(merged(attended, window, height, width), shift))
	if height > l.height || width > l.width {
		fn.Set(&attended, attended.SliceStep(1, 0, l.height, 1).SliceStep(2, 0, l.width, 1).Contiguous())
	}
	fn.Set(&attended, attended.View(B, l.height*l.width, C))
	fn.Set(&hidden, shortcut.Add(l.dropPath.Call(attended)))

	residual := fn.Let(hidden)
	fn.Set(&hidden, l.after.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.dropout.Call(hidden).Add(residual))
	return hidden, weights
}

// padding returns what is missing to a multiple of a window.
func padding(n, window int) int { return (window - n%window) % window }

// shifted is cyclic_shift.
func shifted(x *shadow.Tensor, shift bool) *shadow.Tensor {
	if !shift {
		return x
	}
	fn := x.World().Func(x)
	fn.Set(&x, x.Roll(1, 2))
	return fn.Return(x)
}

// partition is window_partition: (B, H, W, C) to (B windows, window, window, C).
func partition(x *shadow.Tensor, window int) *shadow.Tensor {
	fn := x.World().Func(x)
	B, H, W, C := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	fn.Set(&x, x.View(B, H/window, window, W/window, window, C))
	return fn.Return(x.Transpose(2, 3).Contiguous().View(-1, window, window, C))
}

// merged is window_reverse, the opposite of partition.
func merged(windows *shadow.Tensor, window, height, width int) *shadow.Tensor {
	fn := windows.World().Func(windows)
	C := windows.Size(-1)
	fn.Set(&windows, windows.View(-1, height/window, width/window, window, window, C))
	fn.Set(&windows, windows.Transpose(2, 3).Contiguous().View(-1, height, width, C))
	return fn.Return(windows)
}

// mask is get_attn_mask: patches attend to those of their own region before the shift, (windows, window², window²).
func (l *swinLayer) mask(w *shadow.World, height, width, window int, dt shadow.DType) *shadow.Tensor {
	fn := w.Func()
	rows, columns := fn.Let(w.Arange(height)), fn.Let(w.Arange(width))
	region := func(at *shadow.Tensor) *shadow.Tensor {
		return fn.Let(at.Compare("ge").To(shadow.Int64).AddOf(func() *shadow.Tensor { return at.Compare("ge").To(shadow.Int64) }))
	}
	byRow, byColumn := region(rows), region(columns)
	image := byRow.Unsqueeze(0).Unsqueeze(2).Unsqueeze(3).MulScalar().Add(byColumn.Unsqueeze(0).Unsqueeze(1).Unsqueeze(3))
	image = fn.Let(image.To(dt)) // (1, H, W, 1)
	windows := fn.Let(partition(image, window))
	fn.Set(&windows, windows.View(-1, window*window))
	mask := fn.Let(windows.Unsqueeze(1).Sub(windows.Unsqueeze(2)))
	filled := mask.MaskedFill(mask.Compare("ne"))
	fn.Set(&mask, filled.MaskedFill(mask.Compare("eq")))
	return fn.Return(mask)
}

// swinAttention is SwinAttention with its SwinRelativePositionBias.
type swinAttention struct {
	shadow.Path
	m          *swin
	q, k, v, o *nn.Linear
	table      *shadow.Tensor // (offsets, heads)
	index      *shadow.Tensor // (window⁴)
	dim, area  int
	dropout    float64
	mask       *shadow.Tensor // for the current forward
}

func newSwinAttention(b *nn.Builder, c *Config, m *swin, at string, dim, heads, window int) *swinAttention {
	a := &swinAttention{Path: shadow.Path(at), m: m, dim: c.HeadDim(dim, heads), area: window * window, dropout: c.Float("attention_probs_dropout_prob", 0)}
	bias := c.Bool("qkv_bias", true)
	a.q = b.Linear(at+".q_proj", dim, dim, bias)
	a.k = b.Linear(at+".k_proj", dim, dim, bias)
	a.v = b.Linear(at+".v_proj", dim, dim, bias)
	a.o = b.Linear(at+".o_proj", dim, dim, true)
	a.table = b.Parameter(at+".relative_position_bias.relative_position_bias_table", (2*window-1)*(2*window-1), heads)
	a.index = b.Buffer(shadow.Int64, a.area*a.area)
	return a
}

func (a *swinAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2)) // (B windows, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	bias := fn.Let(a.bias()) // (1, H, S, S)
	mask := fn.Let(a.mask)
	combined := bias
	if mask != nil {
		fn.Set(&mask, mask.Unsqueeze(1).Unsqueeze(0).Expand(B/mask.Size(0), -1, -1, -1, -1).Reshape(-1, 1, S, S))
		combined = bias.Add(mask)
	}
	fn.Let(combined)
	out, weights := fn.Let2(a.m.attention(query, key, value, attending{mask: combined, dropout: a.dropout})) // (B windows, S, H, D)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

// bias is SwinRelativePositionBias.forward.
func (a *swinAttention) bias() *shadow.Tensor {
	fn := a.table.World().Func()
	bias := fn.Let(a.table.IndexAt(0, a.index))
	fn.Set(&bias, bias.View(a.area, a.area, -1))
	return fn.Return(bias.Permute(2, 0, 1).Contiguous().Unsqueeze(0))
}
