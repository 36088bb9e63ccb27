// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DINOv2: transformers/models/dinov2/modeling_dinov2.py.

type dinov2 struct {
	net
	channels, labels int
	height, width    int // of the images
	embed            *dinov2Embeddings
	layers           []*dinov2Layer
	norm             *nn.LayerNorm
	classifier       *nn.Linear // nil without a head
}

func newDINOv2(b *nn.Builder, c *Config, run Run) (Model, error) {
	hidden := c.Positive("hidden_size", 768)
	m := &dinov2{net: net{b.W, run}, channels: c.Positive("num_channels", 3), labels: c.labels()}
	m.height, m.width = cmp.Or(run.Images.Height, ImageNetSide), cmp.Or(run.Images.Width, ImageNetSide)
	if patch := c.Positive("patch_size", 14); patch > min(m.height, m.width) {
		return nil, refuse("image_size", "%d is less than a patch, which has %d pixels", min(m.height, m.width), patch)
	}
	m.embed = newDINOv2Embeddings(b, c, m, hidden)
	for i := range c.Int("num_hidden_layers", 12) {
		m.layers = append(m.layers, newDINOv2Layer(b, c, m, fmt.Sprintf("%sencoder.layer.%d", m.prefix("dinov2"), i), hidden))
	}
	m.norm = b.LayerNorm(m.prefix("dinov2")+"layernorm", hidden, true)
	if run.Head != Encoder {
		m.classifier = b.Linear("classifier", 2*hidden, m.labels, true)
	}
	return m, nil
}

func (m *dinov2) Batch() Batch {
	return Batch{
		Pixels: m.w.Input(shadow.Float32, m.run.Batch, m.channels, m.height, m.width),
		Labels: m.w.Input(shadow.Int64, m.run.Batch),
	}
}

// Loss is Dinov2ForImageClassification.forward.
func (m *dinov2) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	sequence := fn.Let(m.forward(b.Pixels)) // (B, N + 1, H)
	if m.headless(sequence, selectsFirst{}) {
		return fn.Return(nil)
	}
	class := fn.Let(sequence.Select(1, 0))                        // (B, H)
	patches := fn.Let(sequence.Slice(1, 1, sequence.Size(1)))     // (B, N, H)
	input := fn.Let(shadow.Cat(1, class, patches.Mean(false, 1))) // (B, 2 H)
	logits := fn.Let(m.classifier.Call(input))                    // (B, labels)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(m.run.Calling.averaged(logits.View(-1, m.labels).CrossEntropy(b.Labels.View(-1))))
}

// forward is Dinov2Model.forward.
func (m *dinov2) forward(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.w.Call(m.embed, pixels))
	encoded := fn.Let(m.encode(embeds))
	sequence := fn.Let(m.norm.Call(encoded))
	fn.Let(sequence.Select(1, 0)) // pooled_output
	return fn.Return(sequence)
}

// encode is Dinov2Encoder.forward.
func (m *dinov2) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden))
	}
	return fn.Return(hidden)
}

// dinov2Embeddings is Dinov2Embeddings: image patches, a class token before them, and positions, which are resized to
// the number of patches.
type dinov2Embeddings struct {
	shadow.Path
	b                *nn.Builder
	class, positions *shadow.Tensor
	projection       *nn.Conv2d
	dropout          nn.Dropout
	side, patch      int // side of the table of positions, and of a patch in pixels
}

func newDINOv2Embeddings(b *nn.Builder, c *Config, m *dinov2, hidden int) *dinov2Embeddings {
	at, patch := m.prefix("dinov2")+"embeddings", c.Positive("patch_size", 14)
	if least := c.Positive("image_size", ImageNetSide); patch > least {
		c.fail("patch_size", "at most the image's side")
		patch = least
	}
	e := &dinov2Embeddings{Path: shadow.Path(at), b: b, dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0)), patch: patch}
	e.side = c.Positive("image_size", ImageNetSide) / patch
	e.class = b.Parameter(at+".cls_token", 1, 1, hidden)
	if c.Bool("use_mask_token", true) {
		b.Parameter(at+".mask_token", 1, hidden)
	}
	e.positions = b.Parameter(at+".position_embeddings", 1, e.side*e.side+1, hidden)
	e.projection = b.Conv2d(at+".patch_embeddings.projection", m.channels, hidden, patch, shadow.Conv{Stride: patch, Groups: 1}, true)
	return e
}

func (e *dinov2Embeddings) Forward(fn *shadow.Frame, pixels *shadow.Tensor) *shadow.Tensor {
	w, B := pixels.World(), pixels.Size(0)
	patches := w.Call(e.projection, pixels.To(e.projection.Weight.DType())) // (B, H, n, m)
	embeds := fn.Let(e.b.TowerInput(patches.View(B, patches.Size(1), -1).Transpose(1, 2)))
	class := fn.Let(e.class.Expand(B, -1, -1))
	fn.Set(&embeds, shadow.Cat(1, class, embeds)) // (B, N + 1, H)
	fn.Set(&embeds, embeds.Add(e.interpolated(embeds, pixels.Size(2), pixels.Size(3))))
	fn.Set(&embeds, e.dropout.Call(embeds))
	return embeds
}

// interpolated is interpolate_pos_encoding.
func (e *dinov2Embeddings) interpolated(embeds *shadow.Tensor, height, width int) *shadow.Tensor {
	if embeds.Size(1)-1 == e.side*e.side && height == width {
		return e.positions
	}
	fn := e.positions.World().Func(embeds)
	dim := e.positions.Size(2)
	class := fn.Let(e.positions.Slice(1, 0, 1))
	patches := fn.Let(e.positions.Slice(1, 1, e.positions.Size(1))) // (1, n n, H)
	fn.Set(&patches, patches.Reshape(1, e.side, e.side, dim))       // (1, n, n, H)
	fn.Set(&patches, patches.Permute(0, 3, 1, 2))                   // (1, H, n, n)
	fn.Set(&patches, patches.Float().UpsampleBicubic(height/e.patch, width/e.patch).To(e.positions.DType()))
	fn.Set(&patches, patches.Permute(0, 2, 3, 1).View(1, -1, dim))
	return fn.Return(shadow.Cat(1, class, patches))
}

// dinov2Layer is Dinov2Layer.
type dinov2Layer struct {
	shadow.Path
	norm1, norm2   *nn.LayerNorm
	attention      *dinov2Attention
	scale1, scale2 *layerScale
	dropPath       dropPath
	mlp            shadow.Module
}

func newDINOv2Layer(b *nn.Builder, c *Config, m *dinov2, at string, hidden int) *dinov2Layer {
	l := &dinov2Layer{Path: shadow.Path(at), dropPath: dropPath(c.Float("drop_path_rate", 0))}
	l.norm1 = b.LayerNorm(at+".norm1", hidden, true)
	l.attention = newDINOv2Attention(b, c, m, at+".attention", hidden)
	l.scale1 = newLayerScale(b, at+".layer_scale1", hidden)
	l.norm2 = b.LayerNorm(at+".norm2", hidden, true)
	inner := hidden * c.Positive("mlp_ratio", 4)
	if c.Bool("use_swiglu_ffn", false) {
		inner = (inner*2/3 + 7) / 8 * 8
		l.mlp = &dinov2SwiGLU{
			Path:       shadow.Path(at + ".mlp"),
			weightsIn:  b.Linear(at+".mlp.weights_in", hidden, 2*inner, true),
			weightsOut: b.Linear(at+".mlp.weights_out", inner, hidden, true),
		}
	} else {
		l.mlp = &vitMLP{
			Path: shadow.Path(at + ".mlp"), act: c.activation("hidden_act", "gelu"),
			fc1: b.Linear(at+".mlp.fc1", hidden, inner, true),
			fc2: b.Linear(at+".mlp.fc2", inner, hidden, true),
		}
	}
	l.scale2 = newLayerScale(b, at+".layer_scale2", hidden)
	return l
}

func (l *dinov2Layer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	normed := fn.Let(l.norm1.Call(hidden))
	attended := fn.Let(w.Call(l.attention, normed))
	fn.Set(&attended, w.Call(l.scale1, attended))
	fn.Set(&hidden, l.dropPath.Call(attended).Add(hidden))

	out := fn.Let(l.norm2.Call(hidden))
	fn.Set(&out, w.Call(l.mlp, out))
	fn.Set(&out, w.Call(l.scale2, out))
	fn.Set(&out, l.dropPath.Call(out).Add(hidden))
	return out
}

// dinov2Attention is Dinov2Attention with its Dinov2SelfAttention and Dinov2SelfOutput.
type dinov2Attention struct {
	shadow.Path
	m                        *dinov2
	query, key, value, dense *nn.Linear
	dim                      int
	dropout                  float64
	output                   nn.Dropout
}

func newDINOv2Attention(b *nn.Builder, c *Config, m *dinov2, at string, hidden int) *dinov2Attention {
	bias := c.Bool("qkv_bias", true)
	return &dinov2Attention{
		Path: shadow.Path(at), m: m, dim: c.HeadDim(hidden, c.Positive("num_attention_heads", 12)),
		dropout: c.Float("attention_probs_dropout_prob", 0), output: nn.Dropout(c.Float("hidden_dropout_prob", 0)),
		query: b.Linear(at+".attention.query", hidden, hidden, bias),
		key:   b.Linear(at+".attention.key", hidden, hidden, bias),
		value: b.Linear(at+".attention.value", hidden, hidden, bias),
		dense: b.Linear(at+".output.dense", hidden, hidden, true),
	}
}

func (a *dinov2Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	context := fn.Let(a.attend(hidden)) // (B, S, H)
	return a.output.Call(a.dense.Call(context))
}

// attend is Dinov2SelfAttention.forward.
func (a *dinov2Attention) attend(hidden *shadow.Tensor) *shadow.Tensor {
	fn := a.m.w.Func(hidden)
	B, S := hidden.Size(0), hidden.Size(1)
	key := fn.Let(a.key.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	value := fn.Let(a.value.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	query := fn.Let(a.query.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	context, weights := fn.Let2(a.m.bothWays(query, key, value, a.dropout)) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(&context, context.Reshape(B, S, -1))
	return fn.Return(context)
}

// dinov2SwiGLU is Dinov2SwiGLUFFN.
type dinov2SwiGLU struct {
	shadow.Path
	weightsIn, weightsOut *nn.Linear
}

func (m *dinov2SwiGLU) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.weightsIn.Call(hidden))
	x := hidden.Chunk(2, -1)
	fn.Let(x[0])
	fn.Let(x[1])
	inner := fn.Let(x[0].SiLU().Mul(x[1]))
	return m.weightsOut.Call(inner)
}

// layerScale is Dinov2LayerScale: a factor for each feature.
type layerScale struct {
	shadow.Path
	lambda1 *shadow.Tensor
}

func newLayerScale(b *nn.Builder, at string, hidden int) *layerScale {
	ones := b.W.Full(b.DType, hidden).Hold() // config.layerscale_value * torch.ones(hidden)
	l := &layerScale{Path: shadow.Path(at), lambda1: b.Parameter(at+".lambda1", hidden)}
	ones.Drop()
	return l
}

func (l *layerScale) Forward(_ *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	return hidden.Mul(l.lambda1)
}

// dropPath is stochastic depth as in SwinDropPath and its copies: each sample randomly keeps or loses its branch.
type dropPath float64

// Call is drop_path(x).
func (p dropPath) Call(x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	if p == 0 || w.Eval || w.Undropped {
		return x
	}
	fn := w.Func(x)
	w.Op("rand")
	size := shadow.Dims(x.Size(0))
	for range x.Dim() - 1 {
		size = size.Append(1)
	}
	random := fn.Let(w.Empty(size, x.DType()))
	fn.Set(&random, random.AddScalar().Plain("floor", x.DType()))
	return fn.Return(x.DivScalar().Mul(random))
}
