// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// Convolutions and pooling of volumes (N, C, D, H, W), and other ops that make a tensor of another size from it.

// Conv3d describes how a kernel moves over a volume: along frames, height and width.
type Conv3d struct {
	Stride   [3]int // points between two positions of the kernel
	Padding  [3]int // zeros added at each side
	Dilation [3]int // distance of the points under the kernel
	Groups   int    // number of groups that channels are split into
}

// out returns the sizes of the result.
func (c Conv3d) out(x, weight Shape) Shape {
	size := x.With(1, weight.d[0])
	for i := range 3 {
		size.d[2+i] = (x.d[2+i]+2*c.Padding[i]-c.Dilation[i]*(weight.d[2+i]-1)-1)/c.Stride[i] + 1
	}
	return size
}

// grown returns the sizes of the result of the transposed convolution.
func (c Conv3d) grown(x, weight Shape, more [3]int) Shape {
	size := x.With(1, weight.d[1]*c.Groups)
	for i := range 3 {
		size.d[2+i] = (x.d[2+i]-1)*c.Stride[i] - 2*c.Padding[i] + c.Dilation[i]*(weight.d[2+i]-1) + more[i] + 1
	}
	return size
}

// product describes one of the convolution's three kernels, for input x and output y.
func (c Conv3d) product(kind kernel.ConvKind, x, y, weight Shape, dt DType) kernel.Conv {
	points := func(s Shape) int { return s.d[2] * s.d[3] * s.d[4] }
	return kernel.Conv{
		Kind: kind, Type: dt.Kernel(), Batch: x.d[0], Channels: x.d[1], Filters: weight.d[0], Groups: c.Groups, Stride: 1,
		Volume: kernel.Volume{In: points(x), Out: points(y), Kernel: points(weight)},
	}
}

// Conv3d is F.conv3d(t, weight, bias). Autocast casts all three.
func (t *Tensor) Conv3d(weight, bias *Tensor, c Conv3d) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor {
		size := c.out(a[0].size, a[1].size)
		return a[0].volume(a[1], a[2], size, func(kind kernel.ConvKind) kernel.Conv {
			return c.product(kind, a[0].size, size, a[1].size, a[0].dtype)
		})
	})
}

// ConvTranspose3d is F.conv_transpose3d(t, weight, bias), whose result is the input of the convolution c. more is the
// output_padding.
func (t *Tensor) ConvTranspose3d(weight, bias *Tensor, c Conv3d, more [3]int) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor {
		size := c.grown(a[0].size, a[1].size, more)
		return a[0].volume(a[1], a[2], size, func(kind kernel.ConvKind) kernel.Conv {
			swapped := [...]kernel.ConvKind{kernel.FProp: kernel.DGrad, kernel.DGrad: kernel.FProp, kernel.WGrad: kernel.WGrad}[kind]
			return c.product(swapped, size, a[0].size, a[1].size, a[0].dtype)
		})
	})
}

// volume is a convolution of volumes, or a transposed one.
func (t *Tensor) volume(weight, bias *Tensor, size Shape, product func(kernel.ConvKind) kernel.Conv) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight, bias)
	input, filter := n.save(t), n.save(weight)
	w.Op("convolution")
	out := w.Empty(size, t.dtype)
	copied := w.rowMajor(t)
	w.convScratch(product(kernel.FProp))
	copied()
	w.volumeWork(out, t, weight)
	n.backward(func(g *Tensor) []*Tensor {
		x, weight := input.get(), filter.get()
		w.Op("convolution_backward")
		copied := w.rowMajor(g)
		var dx, dw, db *Tensor
		if n.needsGrad(0) {
			dx = w.Empty(x.size, g.dtype)
			w.convScratch(product(kernel.DGrad))
			w.volumeWork(g, dx, weight)
		}
		if n.needsGrad(1) {
			copiedInput := w.rowMajor(x)
			dw = w.Empty(weight.size, g.dtype)
			w.convScratch(product(kernel.WGrad))
			w.volumeWork(g, x, dw)
			copiedInput()
		}
		copied()
		if bias != nil && n.needsGrad(2) {
			db = g.reduce("sum", []int{0, 2, 3, 4}, false, g.dtype)
		}
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t, weight, bias)
}

// volumeWork counts the multiplications of one pass over the larger of two volumes.
func (w *World) volumeWork(out, in, weight *Tensor) {
	if w.Meter == nil {
		return
	}
	perOutput := weight.Numel() / weight.size.d[0]
	w.Meter.Kernel(Kernel{
		Work: Convolution, Flops: 2 * float64(out.Numel()) * float64(perOutput), DType: weight.dtype,
		Bytes: float64(out.Bytes() + in.Bytes() + weight.Bytes()),
		B:     1, M: int32(out.Numel() / out.size.d[1]), N: int32(out.size.d[1]), K: int32(perOutput),
	})
}

// MaxPoolTo is a maximum over windows of signals or volumes, with the size of the result. It also keeps the index of each
// window's maximum.
func (t *Tensor) MaxPoolTo(op string, size ...int) *Tensor {
	w := t.w
	n := w.record(op+"Backward", t)
	self := n.save(t)
	w.Op(op)
	copied := w.rowMajor(t)
	out, at := w.Empty(Dims(size...), t.dtype), w.Empty(Dims(size...), Int64)
	w.Launch(out, t, at)
	copied()
	n.save(at)
	dropTemporaries(at)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op(op + "_backward")
		dx := w.Empty(self.get().size, g.dtype)
		w.rowMajor(g)()
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// UpsampleTo is F.interpolate of signals or volumes. Autocast casts its argument to float32.
func (t *Tensor) UpsampleTo(size ...int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.ResizedTo("upsample", false, size...) })
}

// ResizedTo returns signals or volumes of another size: the result of average pooling, which saves its input, or of
// upsampling, which saves only the input's size.
func (t *Tensor) ResizedTo(op string, saves bool, size ...int) *Tensor {
	w := t.w
	n := w.record(op+"Backward", t)
	n.saveIf(saves, t)
	w.Op(op)
	out := w.Empty(Dims(size...), t.dtype)
	w.rowMajor(t)()
	w.Launch(out, t)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor {
		w.Op(op + "_backward")
		dx := w.Empty(from, g.dtype)
		w.rowMajor(g)()
		w.Launch(dx, g)
		return inputGrads(dx)
	})
	return n.result(out, t)
}
