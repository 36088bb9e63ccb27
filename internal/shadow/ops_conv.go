// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Convolutions as cuDNN runs them (aten/src/ATen/native/cudnn/ConvShared.cpp). Each of the three kernels
// allocates a workspace besides its result; package kernel computes its size.

// Conv describes how a kernel moves over an image, the same in both directions unless Across is called.
type Conv struct {
	Stride   int         // pixels between two positions of the kernel
	Padding  int         // zeros added at each side
	Dilation int         // distance of the pixels under the kernel; 0 means 1
	Groups   int         // number of groups that channels are split into
	wide     kernel.Wide // stride and padding along the width, if they are others
	line     bool        // the kernel moves over signals, which are images of height 1
}

// Across returns c with a stride and a padding for the width.
func (c Conv) Across(stride, padding int) Conv {
	c.wide = kernel.Wide{Differs: stride != c.Stride || padding != c.Padding, Stride: stride, Padding: padding}
	return c
}

// span is the number of pixels that the kernel covers.
func (c Conv) span(kernel int) int { return max(c.Dilation, 1)*(kernel-1) + 1 }

// out returns the width of the output.
func (c Conv) out(in, kernel int) int {
	stride, padding := c.width()
	return (in+2*padding-c.span(kernel))/stride + 1
}

// width returns stride and padding along the width.
func (c Conv) width() (stride, padding int) {
	if c.wide.Differs {
		return c.wide.Stride, c.wide.Padding
	}
	return c.Stride, c.Padding
}

// alongHeight returns the height of the output. A signal has none.
func (c Conv) alongHeight(in, kernel int) int {
	if c.line {
		return 1
	}
	return (in+2*c.Padding-c.span(kernel))/c.Stride + 1
}

// Conv1d is F.conv1d(t, weight, bias) of signals (B, C, L), as a convolution of images (B, C, 1, L).
func (t *Tensor) Conv1d(weight, bias *Tensor, c Conv) *Tensor {
	c.line = true
	return t.Conv2d(weight, bias, c)
}

// image is view4d: a signal as an image of height 1.
func (t *Tensor) image(c Conv) *Tensor {
	if !c.line {
		return t
	}
	return t.alias(t.size.insert(2, 1), t.stride.insert(2, t.size.d[2]*t.stride.d[2]))
}

// signal is view3d of a result: the opposite of image.
func (t *Tensor) signal(c Conv) *Tensor {
	if c.line && t != nil {
		t.size, t.stride = t.size.Remove(2), t.stride.Remove(2)
	}
	return t
}

// plainSignal pins an image, and copies it first if it was made of a signal that is not contiguous, so that no permuted signal
// is taken for an image with channels last.
func (w *World) plainSignal(x *Tensor, c Conv) *Tensor {
	if c.line {
		x = x.inLayout(false)
		w.pin(x)
	}
	return x
}

// dropImages drops the images that were made of signals.
func (c Conv) dropImages(images ...*Tensor) {
	if c.line {
		dropTemporaries(images...)
	}
}

// Conv2d is F.conv2d(t, weight, bias). Autocast casts all three.
func (t *Tensor) Conv2d(weight, bias *Tensor, c Conv) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor { return a[0].convolution(a[1], a[2], c) })
}

func (t *Tensor) convolution(weight, bias *Tensor, c Conv) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight, bias)
	input, filter := n.save(t), n.save(weight)
	w.Op("convolution")
	signal := w.pin()
	given, kernels := t.image(c), weight.image(c)
	x := w.plainSignal(given, c)
	last := x.channelsLast() || kernels.channelsLast()
	size := Dims(x.size.d[0], kernels.size.d[0], c.alongHeight(x.size.d[2], kernels.size.d[2]), c.out(x.size.d[3], kernels.size.d[3]))
	out := w.emptyStrided(size, layout(size, last), t.dtype)
	mark := w.pin(kernels.inLayout(last))
	w.pin(x.inLayout(last))
	w.convScratch(c.product(kernel.FProp, x.size, kernels.size, t.dtype, last))
	w.unpin(mark)
	w.convWork(out, x, kernels)
	w.unpin(signal)
	c.dropImages(given, kernels)
	n.backward(func(g *Tensor) []*Tensor { return convolutionBackward(n, g, input.get(), filter.get(), bias != nil, c) })
	return n.result(out.signal(c), t, weight, bias)
}

// Patches is F.conv3d(t, weight, bias) with a kernel as large as each input, so that the result has one number per
// filter: the embedding of image patches (N, C, T, P, P) as (N, E, 1, 1, 1). PyTorch 2.11 uses cuDNN for it.
func (t *Tensor) Patches(weight, bias *Tensor) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor { return a[0].patches(a[1], a[2]) })
}

func (t *Tensor) patches(weight, bias *Tensor) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight, bias)
	input, filter := n.save(t), n.save(weight)
	w.Op("convolution")
	out := w.Empty(Dims(t.size.d[0], weight.size.d[0], 1, 1, 1), t.dtype)
	w.convScratch(patchProduct(kernel.FProp, t.size, weight.size, t.dtype))
	if w.Meter != nil {
		k := weight.Numel() / weight.size.d[0]
		w.Meter.Kernel(Kernel{
			Work: Convolution, Flops: 2 * float64(out.Numel()) * float64(k), DType: weight.dtype, Bytes: float64(out.Bytes() + t.Bytes() + weight.Bytes()),
			M: int32(out.size.d[0]), N: int32(out.size.d[1]), K: int32(k),
		})
	}
	n.backward(func(g *Tensor) []*Tensor {
		var dx, dw, db *Tensor
		if n.needsGrad(0) {
			dx = w.Empty(t.size, g.dtype)
			w.convScratch(patchProduct(kernel.DGrad, t.size, weight.size, g.dtype))
		}
		if n.needsGrad(1) {
			dw = w.Empty(filter.get().size, g.dtype)
			w.convScratch(patchProduct(kernel.WGrad, input.get().size, weight.size, g.dtype))
		}
		if bias != nil && n.needsGrad(2) {
			db = g.reduce("sum", []int{0, 2, 3, 4}, false, g.dtype)
		}
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t, weight, bias)
}

// patchProduct describes one of the three kernels of Patches.
func patchProduct(kind kernel.ConvKind, x, weight Shape, dt DType) kernel.Conv {
	side := kernel.Pair{H: x.d[3], W: x.d[4]}
	return kernel.Conv{Kind: kind, Type: dt.Kernel(), Batch: x.d[0], Channels: x.d[1], Filters: weight.d[0], Size: side, Kernel: side, Stride: x.d[3], Groups: 1, Depth: x.d[2]}
}

// convolutionBackward returns the gradients of input, weight and bias, in that order. The incoming gradient is first
// converted to the input's layout, channels first or last; if it has that layout but is not dense, each kernel copies
// it. The bias's gradient is summed from the unconverted gradient.
func convolutionBackward(n *node, g, x, weight *Tensor, bias bool, c Conv) []*Tensor {
	w := g.w
	var dx, dw, db *Tensor
	signal := w.pin()
	g, given, weight := g.image(c), x.image(c), weight.image(c)
	x = w.plainSignal(given, c)
	dy := g
	if last := x.channelsLast(); g.channelsLast() != last {
		dy = g.inLayout(last)
	}
	mark := w.pin(dy)
	if n.needsGrad(0) {
		dx = convInputGrad(dy, x.size, weight, c)
		w.convWork(dy, dx, weight)
	}
	if n.needsGrad(1) {
		dw = convWeightGrad(dy, x, weight.size, c)
		w.convWork(dy, x, dw)
	}
	w.unpin(mark)
	if bias && n.needsGrad(2) {
		db = g.reduce("sum", []int{0, 2, 3}, false, g.dtype)
	}
	w.unpin(signal)
	c.dropImages(g, given, weight)
	return inputGrads(dx.signal(c), dw.signal(c), db)
}

func convInputGrad(dy *Tensor, size Shape, weight *Tensor, c Conv) *Tensor {
	w := dy.w
	last := dy.channelsLast() || weight.channelsLast()
	dx := w.emptyStrided(size, layout(size, last), dy.dtype)
	mark := w.pin(weight.inLayout(last))
	w.pin(dy.inLayout(last))
	w.convScratch(c.product(kernel.DGrad, size, weight.size, dy.dtype, last))
	w.unpin(mark)
	return dx
}

func convWeightGrad(dy, x *Tensor, size Shape, c Conv) *Tensor {
	w := dy.w
	last := dy.channelsLast() || x.channelsLast()
	mark := w.pin(dy.inLayout(last))
	w.pin(x.inLayout(last))
	dw := w.emptyStrided(size, layout(size, last), dy.dtype)
	w.convScratch(c.product(kernel.WGrad, x.size, size, dy.dtype, last))
	w.unpin(mark)
	return dw
}

// product describes one of the convolution's three kernels, for input x.
func (c Conv) product(kind kernel.ConvKind, x, weight Shape, dt DType, last bool) kernel.Conv {
	return kernel.Conv{
		Kind: kind, Type: dt.Kernel(), Last: last, Batch: x.d[0], Channels: x.d[1], Filters: weight.d[0],
		Size: kernel.Pair{H: x.d[2], W: x.d[3]}, Kernel: kernel.Pair{H: weight.d[2], W: weight.d[3]},
		Stride: c.Stride, Padding: c.Padding, Dilation: c.Dilation, Groups: c.Groups, Wide: c.wide, Line: c.line,
	}
}

// convScratch allocates a kernel's workspace for the duration of the call.
func (w *World) convScratch(c kernel.Conv) {
	bytes := w.kernelBytes(w.Rules.Convolution(c))
	was := w.component
	w.component = Workspace
	w.Scratch(bytes)
	w.component = was
	if w.Meter != nil && bytes > 4096 { // data in the workspace is written and read again
		w.Meter.Kernel(Kernel{Bytes: 2 * float64(bytes)})
	}
}

// channelsLast is suggest_memory_format, which looks at the strides: dimension
// 1 varies fastest, then 3, 2 and 0.
func (t *Tensor) channelsLast() bool {
	if t.size.n != 4 || t.stride.d[1] == 0 {
		return false
	}
	least := 0
	for _, d := range [...]int{1, 3, 2, 0} {
		if t.stride.d[d] < least || (d == 0 && least == t.stride.d[1]) {
			return false
		}
		least = t.stride.d[d] * max(t.size.d[d], 1)
	}
	return true
}

// layout returns the strides of an image, channels last or first.
func layout(size Shape, last bool) Shape {
	if !last {
		return size.contiguous()
	}
	c, h, w := size.d[1], size.d[2], size.d[3]
	return Dims(h*w*c, 1, w*c, c)
}

// inLayout is Tensor.contiguous(memory_format): t itself if it already has that layout.
func (t *Tensor) inLayout(last bool) *Tensor {
	want := layout(t.size, last)
	for i := range t.size.n {
		if t.size.d[i] != 1 && t.stride.d[i] != want.d[i] {
			out := t.w.emptyStrided(t.size, want, t.dtype)
			t.w.Launch(out, t)
			return out
		}
	}
	return t
}

// converts returns 1 if cuDNN has to convert the layout of an image, because its kernels expect channels last.
func converts(t *Tensor) int32 {
	if t.channelsLast() {
		return 0
	}
	return 1
}

// convWork counts the multiplications of one pass over the output.
func (w *World) convWork(out, in, weight *Tensor) {
	if w.Meter == nil {
		return
	}
	perOutput := weight.Numel() / weight.size.d[0]
	kind := Convolution
	if weight.size.d[1] == 1 && weight.size.d[0] > 1 && in.size.d[1] > 1 {
		kind = Depthwise
	}
	w.Meter.Kernel(Kernel{
		Work: kind, Flops: 2 * float64(out.Numel()) * float64(perOutput), DType: weight.dtype,
		Bytes: float64(out.Bytes() + in.Bytes() + weight.Bytes()),
		B:     converts(out), M: int32(out.Numel() / out.size.d[1]), N: int32(out.size.d[1]), K: int32(perOutput),
	})
}
