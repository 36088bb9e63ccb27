// SPDX-License-Identifier: Apache-2.0

package shadow

// GroupNorm is F.group_norm over an image's channels in groups. Autocast casts all three arguments to float32. The
// kernels run on a row-major copy, if the input is in another layout.
func (t *Tensor) GroupNorm(groups int, weight, bias *Tensor) *Tensor {
	w := t.w
	mark := w.pin(t)
	args := [3]*Tensor{t, weight, bias}
	for i := 2; i >= 0; i-- { // C++ evaluates the arguments from right to left
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	x := args[0].Contiguous()
	w.pin(x)
	out := x.groupNorm(groups, args[1], args[2])
	w.unpin(mark)
	return out
}

// groupNorm is native_group_norm (aten/src/ATen/native/cuda/group_norm_kernel.cu, 2.11): mean and reciprocal standard
// deviation have the input's type, and a factor and a shift for each channel exist during the call.
func (t *Tensor) groupNorm(groups int, weight, bias *Tensor) *Tensor {
	w := t.w
	n := w.record("NativeGroupNormBackward0", t, weight, bias)
	input := n.save(t)
	n.save(weight)
	w.Op("native_group_norm")
	out := w.Empty(t.size, t.dtype)
	stat, channels := Dims(t.size.d[0], groups), Dims(t.size.d[0], t.size.d[1])
	mean, rstd := w.Empty(stat, t.dtype), w.Empty(stat, t.dtype)
	factor := w.Empty(channels, Float32).Hold()
	w.Empty(channels, Float32).Hold().Drop()
	factor.Drop()
	w.launchRows(out, t)
	n.save(mean)
	n.save(rstd)
	dropTemporaries(mean, rstd)
	n.backward(func(g *Tensor) []*Tensor {
		want := [3]bool{n.needsGrad(0), n.needsGrad(1), n.needsGrad(2)}
		dx, dw, db := w.groupNormGrad(g, input.get(), weight, stat, want)
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t)
}

// groupNormGrad is native_group_norm_backward. Two sums for each channel exist during the call, and with an input
// gradient also two coefficients for each group and one for each channel.
func (w *World) groupNormGrad(g, x, weight *Tensor, stat Shape, want [3]bool) (dx, dw, db *Tensor) {
	mark := w.pin(g.Contiguous())
	w.Op("native_group_norm_backward")
	if want[0] {
		dx = w.Empty(x.size, x.dtype)
	}
	if want[1] {
		dw = w.Empty(weight.size, weight.dtype)
	}
	if want[2] {
		db = w.Empty(weight.size, weight.dtype)
	}
	channels := Dims(x.size.d[0], x.size.d[1])
	ds, dsum := w.Empty(channels, Float32).Hold(), w.Empty(channels, Float32).Hold()
	if want[0] {
		second, third := w.Empty(stat, Float32).Hold(), w.Empty(stat, Float32).Hold()
		first := w.Empty(channels, Float32).Hold()
		third.Drop()
		second.Drop()
		first.Drop()
	}
	dsum.Drop()
	ds.Drop()
	w.Launch(dx, g, x)
	w.launchRows(g, x)
	w.unpin(mark)
	return dx, dw, db
}

// UpsampleNearest is F.interpolate(t, size, mode="nearest") of images. Autocast casts its argument to float32.
func (t *Tensor) UpsampleNearest(height, width int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.upsampled("upsample_nearest2d", height, width) })
}

// UpsampleBilinear is F.interpolate(t, size, mode="bilinear") of images. Autocast casts its argument to float32.
func (t *Tensor) UpsampleBilinear(height, width int) *Tensor {
	return t.inFloat32(func(t *Tensor) *Tensor { return t.upsampled("upsample_bilinear2d", height, width) })
}

// upsampled keeps the layout of its argument, and its gradient that of the incoming one.
func (t *Tensor) upsampled(op string, height, width int) *Tensor {
	w := t.w
	n := w.record(op+"_backward", t)
	w.Op(op)
	was, last := t.size, t.channelsLast()
	size := was.With(2, height).With(3, width)
	out := w.emptyStrided(size, layout(size, last), t.dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op(op + "_backward")
		last := g.channelsLast()
		dx := w.emptyStrided(was, layout(was, last), g.dtype)
		mark := w.pin(g)
		if op != "upsample_bilinear2d" || was != size { // otherwise the gradient is copied as it is
			w.pin(g.inLayout(last))
		}
		w.Launch(dx, g)
		w.unpin(mark)
		return inputGrads(dx)
	})
	return n.result(out, t)
}

// PadImage is F.pad(t, (0, right, 0, below)): zeros at the right and lower edges of images.
func (t *Tensor) PadImage(right, below int) *Tensor {
	w := t.w
	n := w.record("ConstantPadNdBackward0", t)
	w.Op("constant_pad_nd")
	height, width := t.size.d[2], t.size.d[3]
	size := t.size.With(2, height+below).With(3, width+right)
	out := w.emptyStrided(size, layout(size, t.channelsLast()), t.dtype)
	w.Launch(out, t)
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.Slice(2, 0, height).Slice(3, 0, width).Clone()) })
	return n.result(out, t)
}
