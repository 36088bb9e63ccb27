// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// convNeXt is torchvision's ConvNeXt.
type convNeXt struct {
	shadow.Path
	features   *nn.Sequential
	avgpool    shadow.Module
	classifier *nn.Sequential
}

// newConvNeXt makes a stem, four stages of blocks with doubling width and a downsampling between stages, and a
// head. The probability of dropping a block's branch grows from zero to dropPath over the blocks.
func newConvNeXt(b *nn.Builder, classes int, dropPath float64, width int, stages ...int) shadow.Module {
	n := &convNeXt{features: &nn.Sequential{Path: "features"}}
	n.add(&nn.Sequential{Path: "features.0", List: []shadow.Module{
		b.Conv2d("features.0.0", 3, width, 4, shadow.Conv{Stride: 4, Groups: 1}, true),
		&layerNorm2d{b.LayerNorm("features.0.1", width, true)},
	}})
	total, id := 0, 0
	for _, count := range stages {
		total += count
	}
	for i, count := range stages {
		if i > 0 {
			n.add(newDownsampling(b, fmt.Sprintf("features.%d", len(n.features.List)), width))
			width *= 2
		}
		at := fmt.Sprintf("features.%d", len(n.features.List))
		stage := &nn.Sequential{Path: shadow.Path(at)}
		for j := range count {
			drop := dropPath * float64(id) / float64(total-1)
			stage.List = append(stage.List, newCNBlock(b, fmt.Sprintf("%s.%d", at, j), width, drop))
			id++
		}
		n.add(stage)
	}
	n.avgpool = nn.Apply{Path: "avgpool", Run: (*shadow.Tensor).AdaptiveAvgPool2d}
	n.classifier = &nn.Sequential{Path: "classifier", List: []shadow.Module{
		&layerNorm2d{b.LayerNorm("classifier.0", width, true)},
		nn.Apply{Path: "classifier.1", Run: func(x *shadow.Tensor) *shadow.Tensor { return x.Flatten(1) }},
		b.Linear("classifier.2", width, classes, true),
	}}
	return n
}

func (n *convNeXt) add(m shadow.Module) { n.features.List = append(n.features.List, m) }

// newDownsampling makes a norm and a convolution that halves the image.
func newDownsampling(b *nn.Builder, at string, width int) shadow.Module {
	return &nn.Sequential{Path: shadow.Path(at), List: []shadow.Module{
		&layerNorm2d{b.LayerNorm(at+".0", width, true)},
		b.Conv2d(at+".1", width, 2*width, 2, shadow.Conv{Stride: 2, Groups: 1}, true),
	}}
}

func (n *convNeXt) Forward(_ *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn := w.Func(x) // _forward_impl
	fn.Set(&x, w.Call(n.features, x))
	fn.Set(&x, w.Call(n.avgpool, x))
	fn.Set(&x, w.Call(n.classifier, x))
	return fn.Return(x)
}

// layerNorm2d is LayerNorm2d: over the channels of an image.
type layerNorm2d struct{ *nn.LayerNorm }

func (n *layerNorm2d) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fn.Set(&x, x.Permute(0, 2, 3, 1)) // (B, H, W, C)
	fn.Set(&x, x.LayerNorm(n.Weight, n.Bias))
	fn.Set(&x, x.Permute(0, 3, 1, 2)) // (B, C, H, W)
	return x
}

// cnBlock is CNBlock.
type cnBlock struct {
	shadow.Path
	block           *nn.Sequential
	layerScale      *shadow.Tensor
	stochasticDepth shadow.Module
}

func newCNBlock(b *nn.Builder, at string, dim int, drop float64) shadow.Module {
	m := &cnBlock{Path: shadow.Path(at)}
	in := at + ".block"
	m.block = &nn.Sequential{Path: shadow.Path(in), List: []shadow.Module{
		b.Conv2d(in+".0", dim, dim, 7, shadow.Conv{Stride: 1, Padding: 3, Groups: dim}, true),
		permute(in+".1", 0, 2, 3, 1), // (B, H, W, C)
		b.LayerNorm(in+".2", dim, true),
		b.Linear(in+".3", dim, 4*dim, true),
		nn.Apply{Path: shadow.Path(in + ".4"), Run: (*shadow.Tensor).GELU},
		b.Linear(in+".5", 4*dim, dim, true),
		permute(in+".6", 0, 3, 1, 2), // (B, C, H, W)
	}}
	ones := b.W.Full(shadow.Float32, dim, 1, 1).Hold() // torch.ones(dim, 1, 1) * layer_scale
	m.layerScale = b.Parameter(at+".layer_scale", dim, 1, 1)
	ones.Drop()
	m.stochasticDepth = nn.Apply{Path: shadow.Path(at + ".stochastic_depth"), Run: func(x *shadow.Tensor) *shadow.Tensor {
		return x.StochasticDepth(drop)
	}}
	return m
}

func permute(at string, order ...int) shadow.Module {
	return nn.Apply{Path: shadow.Path(at), Run: func(x *shadow.Tensor) *shadow.Tensor { return x.Permute(order...) }}
}

func (m *cnBlock) Forward(fn *shadow.Frame, input *shadow.Tensor) *shadow.Tensor {
	w := input.World()
	var result *shadow.Tensor
	fn.Set(&result, m.layerScale.Mul(w.Call(m.block, input)))
	fn.Set(&result, w.Call(m.stochasticDepth, result))
	fn.Set(&result, result.AddInPlace(input))
	return result
}
