// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// resNet is torchvision's ResNet.
type resNet struct {
	shadow.Path
	conv1   *nn.Conv2d
	bn1     *nn.BatchNorm2d
	relu    shadow.Module
	maxpool shadow.Module
	layers  []shadow.Module
	avgpool shadow.Module
	fc      *nn.Linear
}

// residual makes one block, given its input channels, width, downsampling stride, and whether its input must be
// converted to the output's shape.
type residual func(b *nn.Builder, at string, in, planes, stride int, down bool) (m shadow.Module, out int)

func newResNet(b *nn.Builder, classes int, block residual, blocks ...int) shadow.Module {
	n := &resNet{
		conv1: b.Conv2d("conv1", 3, 64, 7, shadow.Conv{Stride: 2, Padding: 3, Groups: 1}, false),
		bn1:   b.BatchNorm2d("bn1", 64),
		relu:  relu("relu"),
		maxpool: nn.Apply{Path: "maxpool", Run: func(x *shadow.Tensor) *shadow.Tensor {
			return x.MaxPool2d(3, shadow.Conv{Stride: 2, Padding: 1})
		}},
		avgpool: nn.Apply{Path: "avgpool", Run: (*shadow.Tensor).AdaptiveAvgPool2d},
	}
	in, planes, stride := 64, 64, 1
	for i, count := range blocks {
		at := fmt.Sprintf("layer%d", i+1)
		layer := &nn.Sequential{Path: shadow.Path(at)}
		for j := range count {
			m, out := block(b, fmt.Sprintf("%s.%d", at, j), in, planes, stride, j == 0)
			layer.List = append(layer.List, m)
			in, stride = out, 1
		}
		n.layers = append(n.layers, layer)
		planes, stride = 2*planes, 2
	}
	n.fc = b.Linear("fc", in, classes, true)
	return n
}

// relu is nn.ReLU(inplace=True).
func relu(at string) shadow.Module {
	return nn.Apply{Path: shadow.Path(at), Run: (*shadow.Tensor).ReLUInPlace}
}

func conv3x3(b *nn.Builder, at string, in, out, stride int) *nn.Conv2d {
	return b.Conv2d(at, in, out, 3, shadow.Conv{Stride: stride, Padding: 1, Groups: 1}, false)
}

func conv1x1(b *nn.Builder, at string, in, out, stride int) *nn.Conv2d {
	return b.Conv2d(at, in, out, 1, shadow.Conv{Stride: stride, Groups: 1}, false)
}

func (n *resNet) Forward(_ *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn := w.Func(x) // _forward_impl
	fn.Set(&x, w.Call(n.conv1, x))
	fn.Set(&x, w.Call(n.bn1, x))
	fn.Set(&x, w.Call(n.relu, x))
	fn.Set(&x, w.Call(n.maxpool, x))
	for _, l := range n.layers {
		fn.Set(&x, w.Call(l, x))
	}
	fn.Set(&x, w.Call(n.avgpool, x))
	fn.Set(&x, x.Flatten(1))
	fn.Set(&x, n.fc.Call(x))
	return fn.Return(x)
}

// block is BasicBlock with two convolutions, or Bottleneck with three.
type block struct {
	shadow.Path
	convs      []*nn.Conv2d
	norms      []*nn.BatchNorm2d
	relu       shadow.Module
	downsample *nn.Sequential
}

func basicBlock(b *nn.Builder, at string, in, planes, stride int, down bool) (shadow.Module, int) {
	m := &block{Path: shadow.Path(at), relu: relu(at + ".relu")}
	b.Early(func() { m.shortcut(b, in, planes, stride, down) }, func() {
		m.add(b, conv3x3(b, at+".conv1", in, planes, stride), planes)
		m.add(b, conv3x3(b, at+".conv2", planes, planes, 1), planes)
	})
	return m, planes
}

func bottleneck(b *nn.Builder, at string, in, planes, stride int, down bool) (shadow.Module, int) {
	m := &block{Path: shadow.Path(at), relu: relu(at + ".relu")}
	b.Early(func() { m.shortcut(b, in, 4*planes, stride, down) }, func() {
		m.add(b, conv1x1(b, at+".conv1", in, planes, 1), planes)
		m.add(b, conv3x3(b, at+".conv2", planes, planes, stride), planes)
		m.add(b, conv1x1(b, at+".conv3", planes, 4*planes, 1), 4*planes)
	})
	return m, 4 * planes
}

func (m *block) add(b *nn.Builder, c *nn.Conv2d, width int) {
	m.convs = append(m.convs, c)
	m.norms = append(m.norms, b.BatchNorm2d(fmt.Sprintf("%s.bn%d", m.At(), len(m.convs)), width))
}

// shortcut makes the downsampling of a layer's first block if the shape
// changes; _make_layer constructs it before the block.
func (m *block) shortcut(b *nn.Builder, in, out, stride int, first bool) {
	if !first || (stride == 1 && in == out) {
		return
	}
	at := m.At() + ".downsample"
	m.downsample = &nn.Sequential{Path: shadow.Path(at), List: []shadow.Module{
		conv1x1(b, at+".0", in, out, stride),
		b.BatchNorm2d(at+".1", out),
	}}
}

func (m *block) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	identity := x
	var out *shadow.Tensor
	fn.Set(&out, w.Call(m.convs[0], x))
	fn.Set(&out, w.Call(m.norms[0], out))
	for i, c := range m.convs[1:] {
		fn.Set(&out, w.Call(m.relu, out))
		fn.Set(&out, w.Call(c, out))
		fn.Set(&out, w.Call(m.norms[i+1], out))
	}
	if m.downsample != nil {
		identity = fn.Let(w.Call(m.downsample, x))
	}
	fn.Set(&out, out.AddInPlace(identity))
	fn.Set(&out, w.Call(m.relu, out))
	return out
}
