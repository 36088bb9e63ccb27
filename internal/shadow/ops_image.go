// SPDX-License-Identifier: Apache-2.0

package shadow

import "math/bits"

// Ops of image models other than convolutions.

// BatchNorm is F.batch_norm in training: it allocates the result, and the batch's mean and reciprocal standard
// deviation in float32. cuDNN runs it, except for bfloat16, for which PyTorch has its own kernels; the memory is
// the same, unless the image has its channels last. Each of the other arguments may be nil.
func (t *Tensor) BatchNorm(weight, bias, runningMean, runningVar *Tensor) *Tensor {
	w := t.w
	n := w.record("BatchNormBackward", t, weight, bias)
	input := n.save(t)
	for _, x := range []*Tensor{runningMean, runningVar, weight} {
		n.saveIf(x != nil, x)
	}
	channels := Dims(t.size.d[1])
	w.Op("batch_norm")
	out := t.EmptyLike(t.dtype)
	mean := w.Empty(channels, Float32)
	invstd := w.Empty(channels, Float32)
	native := t.dtype == BFloat16 && t.channelsLast() && weight != nil
	if native {
		w.batchNormScratch(t.size, 4)
	}
	w.launchBatchNorm(BatchNorming, out, t, t)
	n.save(mean)
	n.save(invstd)
	dropTemporaries(mean, invstd)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("batch_norm_backward")
		x := input.get()
		mark := w.pin(g.like(x))
		if native {
			dx, dw, db := w.batchNormGrad(x, weight)
			w.launchBatchNorm(BatchNormingBack, dx, g, x, g, x)
			w.unpin(mark)
			return inputGrads(dx, dw, db)
		}
		dx := x.EmptyLike(x.dtype)
		var dw, db *Tensor
		if weight != nil {
			dw = w.Empty(channels, weight.dtype)
			db = w.Empty(channels, weight.dtype)
		}
		w.launchBatchNorm(BatchNormingBack, dx, g, x, g, x)
		w.unpin(mark)
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t)
}

// batchNormGrad is PyTorch's own kernel for channels last: two sums for each channel come before the gradients.
func (w *World) batchNormGrad(x, weight *Tensor) (dx, dw, db *Tensor) {
	sums := [2]*Tensor{w.Empty(weight.size, Float32).Hold(), w.Empty(weight.size, Float32).Hold()}
	dw, db = w.Empty(weight.size, weight.dtype), w.Empty(weight.size, weight.dtype)
	w.batchNormScratch(x.size, 2)
	dx = x.EmptyLike(x.dtype)
	sums[1].Drop()
	sums[0].Drop()
	return dx, dw, db
}

// batchNormScratch allocates the scratch memory in which the blocks of a kernel for channels last share partial sums: a
// number of float32 sums for each channel and block, and a counter for each tile of channels. The shape of the grid is flexible_launch_configs
// (aten/src/ATen/native/cuda/Normalization.cuh, 2.11).
func (w *World) batchNormScratch(size Shape, sums int) {
	const tile, each, threads, most, least = 32, 16, 512, 128, 8
	channels := size.d[1]
	rows := size.Numel() / channels
	x := min(lastPow2(channels), tile)
	y := min(lastPow2((rows+each-1)/each), threads/x)
	if x*y != threads {
		x = min(lastPow2(channels), threads/y)
	}
	blocks := min((rows+y*each-1)/(y*each), most)
	if blocks < least {
		return
	}
	partials := w.Empty(Dims(sums*channels*blocks), Float32).Hold()
	w.Scratch(uint64((channels+x-1)/x) * 4)
	partials.Drop()
}

// lastPow2 is the largest power of two that is at most n.
func lastPow2(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// like returns t in the layout of o, an image of the same shape.
func (t *Tensor) like(o *Tensor) *Tensor { return t.inLayout(o.channelsLast()) }

// ReLUInPlace is relu_: the result uses the memory of the argument.
func (t *Tensor) ReLUInPlace() *Tensor {
	return t.activateInPlace("ReluBackward0", "relu_", "threshold_backward")
}

// AddInPlace is t += o.
func (t *Tensor) AddInPlace(o *Tensor) *Tensor { return t.addInPlace(o) }

// MaxPool2d is F.max_pool2d with a square window. It also keeps the index of each window's maximum.
func (t *Tensor) MaxPool2d(kernel int, c Conv) *Tensor {
	return t.MaxPool("max_pool2d_with_indices", c.alongHeight(t.size.d[2], kernel), c.out(t.size.d[3], kernel))
}

// MaxPool is a maximum over windows of images, with the height and the width of the result.
func (t *Tensor) MaxPool(op string, height, width int) *Tensor {
	w := t.w
	n := w.record("MaxPool2DWithIndicesBackward0", t)
	self := n.save(t)
	w.Op(op)
	last := t.channelsLast()
	mark := w.pin(t.inLayout(last))
	size := t.size.With(2, height).With(3, width)
	out := w.emptyStrided(size, layout(size, last), t.dtype)
	at := w.emptyStrided(size, layout(size, last), Int64)
	w.Launch(out, t, at)
	w.unpin(mark)
	n.save(at)
	dropTemporaries(at)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op(op + "_backward")
		x := self.get()
		mark := w.pin(g.like(x))
		out := w.emptyStrided(x.size, layout(x.size, x.channelsLast()), x.dtype)
		w.Launch(out, g)
		w.unpin(mark)
		return inputGrads(out)
	})
	return n.result(out, t)
}

// AdaptiveAvgPool2d is F.adaptive_avg_pool2d(t, 1): a mean over both image dimensions. The result of a
// channels-last input becomes channels last through as_strided, whose backward makes a new tensor.
func (t *Tensor) AdaptiveAvgPool2d() *Tensor {
	last := t.channelsLast()
	out := t.Mean(true, -1, -2)
	if !last {
		return out
	}
	n, c := out.size.d[0], out.size.d[1]
	return out.view("AsStridedBackward0", out.size, Dims(c, 1, c, c), func(g *Tensor) *Tensor {
		base := g.w.Empty(Dims(n*c), g.dtype).Hold()
		grad := base.alias(Dims(n, c, 1, 1), Dims(c, 1, 1, 1))
		base.Drop()
		return grad
	})
}

// Flatten is torch.flatten(t, from).
func (t *Tensor) Flatten(from int) *Tensor {
	size := t.size
	for size.n > from+1 {
		size = size.With(from, size.d[from]*size.d[from+1]).Remove(from + 1)
	}
	return t.ReshapeAs(size)
}

// StochasticDepth is torchvision's stochastic_depth in row mode: each image randomly keeps or loses its branch.
func (t *Tensor) StochasticDepth(p float64) *Tensor {
	if p == 0 {
		return t
	}
	fn := t.w.Func(t)
	t.w.Op("empty")
	noise := fn.Let(t.w.Empty(Dims(t.size.d[0], 1, 1, 1), t.dtype))
	return fn.Return(t.Mul(noise))
}

// AvgPool2d is F.avg_pool2d.
func (t *Tensor) AvgPool2d(kernel int, c Conv) *Tensor {
	return t.Resampled("avg_pool2d", c.alongHeight(t.size.d[2], kernel), c.out(t.size.d[3], kernel), true)
}

// UpsampleBicubic is F.interpolate(t, size, mode="bicubic"). Autocast casts its argument to float32. Whatever the layout of its argument, the
// result and the gradient are channels first, and the kernel for the gradient works on a row-major copy.
func (t *Tensor) UpsampleBicubic(height, width int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.upsampleBicubic(height, width) })
}

func (t *Tensor) upsampleBicubic(height, width int) *Tensor {
	w := t.w
	n := w.record("UpsampleBicubic2DBackward0", t)
	w.Op("upsample_bicubic2d")
	from := t.size
	out := w.Empty(from.With(2, height).With(3, width), t.dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("upsample_bicubic2d_backward")
		dx := w.Empty(from, g.dtype)
		mark := w.pin(g.Contiguous())
		w.Launch(dx, g)
		w.unpin(mark)
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// Upsample is F.interpolate(t, size) of images, to a larger or a smaller size. Autocast casts its argument to float32.
func (t *Tensor) Upsample(height, width int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.Resampled("upsample2d", height, width, false) })
}

// Resampled returns an image with another height and width: the result of average pooling, which saves its input, or of
// upsampling, which saves only the input's size.
func (t *Tensor) Resampled(op string, height, width int, saves bool) *Tensor {
	w := t.w
	n := w.record(op+"_backward", t)
	if saves {
		n.save(t)
	}
	w.Op(op)
	from, dtype, last := t.size, t.dtype, t.channelsLast()
	size := from.With(2, height).With(3, width)
	out := w.emptyStrided(size, layout(size, last), dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op(op + "_backward")
		dx := w.emptyStrided(from, layout(from, last), dtype)
		mark := w.pin(g.inLayout(last))
		w.Launch(dx, g)
		w.unpin(mark)
		return inputGrads(dx)
	})
	return n.result(out, t)
}
