// SPDX-License-Identifier: Apache-2.0

package shadow

// Conv1dDepthwise is F.conv1d with one channel per group: t is (B, C, S), weight (C, 1, K). PyTorch has
// its own kernels for it (_conv_depthwise2d), which need the input in row-major order.
func (t *Tensor) Conv1dDepthwise(weight, bias *Tensor, padding int) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor { return a[0].depthwise(a[1], a[2], padding) })
}

func (t *Tensor) depthwise(weight, bias *Tensor, padding int) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight, bias)
	input, filter := n.save(t), n.save(weight)
	w.Op("convolution")
	done := w.rowMajor(t)
	out := w.Empty(t.size.With(2, t.size.d[2]+2*padding-weight.size.d[2]+1), t.dtype)
	done()
	w.convWork(out, t, weight)
	n.backward(func(g *Tensor) []*Tensor {
		x, weight := input.get(), filter.get()
		w.Op("convolution_backward")
		doneX := w.rowMajor(x)
		doneG := w.rowMajor(g)
		var dx, dw, db *Tensor
		if n.needsGrad(1) {
			dw = w.Empty(weight.size, weight.dtype)
			w.convWork(g, x, dw)
		}
		if n.needsGrad(0) {
			dx = w.Empty(x.size, x.dtype)
			w.convWork(g, dx, weight)
		}
		if n.needsGrad(2) {
			db = g.reduce("sum", []int{0, 2}, false, g.dtype)
		}
		doneG()
		doneX()
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t, weight, bias)
}

// rowMajor copies t for the duration of an op if it is not row-major; the
// function that it returns frees the copy.
func (w *World) rowMajor(t *Tensor) (end func()) {
	if t.contiguous() {
		return func() {}
	}
	c := w.Empty(t.size, t.dtype).Hold()
	w.Launch(c, t)
	return c.Drop
}
