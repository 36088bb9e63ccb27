// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// ConvNeXt as transformers has it: transformers/models/convnext/modeling_convnext.py. convnext.go is torchvision's.

type convNext struct {
	net
	channels, labels int
	height, width    int // of the images
	embed            *nn.Sequential
	stages           []*nn.Sequential
	norm             *nn.LayerNorm
	classifier       *nn.Linear // nil without a head
}

func newConvNext(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Checkpointing {
		return nil, refuse("checkpointing", "transformers does not support it for convnext; turn it off")
	}
	side := c.Positive("image_size", ImageNetSide)
	m := &convNext{net: net{b.W, run}, channels: c.Positive("num_channels", 3), labels: c.labels()}
	m.height, m.width = cmp.Or(run.Images.Height, side), cmp.Or(run.Images.Width, side)
	widths, depths := c.sizes("hidden_sizes", 96, 192, 384, 768), c.sizes("depths", 3, 3, 9, 3)
	if c.Positive("num_stages", 4) != len(widths) || len(depths) != len(widths) {
		c.fail("num_stages", "the number of entries of hidden_sizes and of depths")
		depths = widths
	}
	patch := c.Positive("patch_size", 4)
	if least := min(m.height, m.width); least < patch<<(len(widths)-1) {
		return nil, refuse("image_size", "%d is too small for convnext; the least is %d", least, patch<<(len(widths)-1))
	}
	at := m.prefix("convnext") + "embeddings"
	m.embed = &nn.Sequential{Path: shadow.Path(at), List: []shadow.Module{
		b.Conv2d(at+".patch_embeddings", m.channels, widths[0], patch, shadow.Conv{Stride: patch, Groups: 1}, true),
		&layerNorm2d{b.LayerNorm(at+".layernorm", widths[0], true)},
	}}
	total, first := 0, 0
	for _, n := range depths {
		total += n
	}
	for i, depth := range depths {
		at := fmt.Sprintf("%sencoder.stages.%d", m.prefix("convnext"), i)
		s := &nn.Sequential{Path: shadow.Path(at)}
		if i > 0 {
			s.List = append(s.List, &layerNorm2d{b.LayerNorm(at+".downsampling_layer.0", widths[i-1], true)},
				b.Conv2d(at+".downsampling_layer.1", widths[i-1], widths[i], 2, shadow.Conv{Stride: 2, Groups: 1}, true))
		}
		for j := range depth {
			drop := c.Float("drop_path_rate", 0) * float64(first+j) / float64(max(total-1, 1))
			s.List = append(s.List, newConvNextLayer(b, c, fmt.Sprintf("%s.layers.%d", at, j), widths[i], dropPath(drop)))
		}
		m.stages, first = append(m.stages, s), first+depth
	}
	m.norm = b.LayerNorm(m.prefix("convnext")+"layernorm", widths[len(widths)-1], true)
	if run.Head != Encoder {
		m.classifier = b.Linear("classifier", widths[len(widths)-1], m.labels, true)
	}
	return m, nil
}

func (m *convNext) Batch() Batch {
	return Batch{
		Pixels: m.w.Input(m.norm.Weight.DType(), m.run.Batch, m.channels, m.height, m.width),
		Labels: m.w.Input(shadow.Int64, m.run.Batch),
	}
}

// Loss is ConvNextForImageClassification.forward.
func (m *convNext) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	features, pooled := fn.Let2(m.forward(b.Pixels))
	fn.Let(features) // outputs.last_hidden_state
	if m.keepsBare(features, pooled) {
		return fn.Return(nil)
	}
	logits := fn.Let(m.classifier.Call(pooled)) // (B, labels)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(m.run.Calling.averaged(logits.View(-1, m.labels).CrossEntropy(b.Labels.View(-1))))
}

// forward is ConvNextModel.forward.
func (m *convNext) forward(pixels *shadow.Tensor) (features, pooled *shadow.Tensor) {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.w.Call(m.embed, pixels)) // (B, C, H, W)
	fn.Set(&features, m.encode(embeds))
	fn.Set(&pooled, m.norm.Call(features.Mean(false, -2, -1))) // (B, C)
	return fn.Return2(features, pooled)
}

// encode is ConvNextEncoder.forward.
func (m *convNext) encode(hidden *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(hidden)
	for _, s := range m.stages {
		fn.Set(&hidden, m.w.Call(s, hidden))
	}
	return fn.Return(hidden)
}

// convNextLayer is ConvNextLayer.
type convNextLayer struct {
	shadow.Path
	depthwise        *nn.Conv2d
	norm             *nn.LayerNorm
	pwconv1, pwconv2 *nn.Linear
	act              activation
	scale            *shadow.Tensor // nil without layer scale
	dropPath         dropPath
}

func newConvNextLayer(b *nn.Builder, c *Config, at string, dim int, drop dropPath) *convNextLayer {
	l := &convNextLayer{Path: shadow.Path(at), act: c.activation("hidden_act", "gelu"), dropPath: drop}
	if c.Float("layer_scale_init_value", 1e-6) > 0 {
		ones := b.W.Full(b.DType, dim).Hold() // layer_scale_init_value * torch.ones(dim)
		l.scale = b.Parameter(at+".layer_scale_parameter", dim)
		ones.Drop()
	}
	l.depthwise = b.Conv2d(at+".dwconv", dim, dim, 7, shadow.Conv{Stride: 1, Padding: 3, Groups: dim}, true)
	l.norm = b.LayerNorm(at+".layernorm", dim, true)
	l.pwconv1 = b.Linear(at+".pwconv1", dim, 4*dim, true)
	l.pwconv2 = b.Linear(at+".pwconv2", 4*dim, dim, true)
	return l
}

func (l *convNextLayer) Forward(fn *shadow.Frame, features *shadow.Tensor) *shadow.Tensor {
	residual := fn.Let(features)
	fn.Set(&features, features.World().Call(l.depthwise, features))
	fn.Set(&features, features.Permute(0, 2, 3, 1)) // (B, H, W, C)
	fn.Set(&features, l.norm.Call(features))
	fn.Set(&features, l.pwconv1.Call(features))
	fn.Set(&features, l.act(features))
	fn.Set(&features, l.pwconv2.Call(features))
	if l.scale != nil {
		fn.Set(&features, l.scale.Mul(features))
	}
	fn.Set(&features, features.Permute(0, 3, 1, 2)) // (B, C, H, W)
	fn.Set(&features, residual.Add(l.dropPath.Call(features)))
	return features
}
