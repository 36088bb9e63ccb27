// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/kernel"

// ConvTranspose2d is F.conv_transpose2d(t, weight, bias): cuDNN runs the kernel for a convolution's input gradient, and
// in the backward pass the convolution itself (aten/src/ATen/native/cudnn/ConvShared.cpp). c is that convolution;
// more is the output_padding of height and width. Autocast casts all three tensors.
func (t *Tensor) ConvTranspose2d(weight, bias *Tensor, c Conv, more [2]int) *Tensor {
	return t.w.autocasted([]*Tensor{t, weight, bias}, func(a []*Tensor) *Tensor { return a[0].convTranspose(a[1], a[2], c, more) })
}

func (t *Tensor) convTranspose(weight, bias *Tensor, c Conv, more [2]int) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight, bias)
	input, filter := n.save(t), n.save(weight)
	w.Op("convolution")
	stride, padding := c.width()
	height := (t.size.d[2]-1)*c.Stride - 2*c.Padding + c.span(weight.size.d[2]) + more[0]
	width := (t.size.d[3]-1)*stride - 2*padding + c.span(weight.size.d[3]) + more[1]
	size := Dims(t.size.d[0], weight.size.d[1]*c.Groups, height, width)
	out := convInputGrad(t, size, weight, c)
	w.convWork(t, out, weight)
	n.backward(func(g *Tensor) []*Tensor {
		return convTransposeBackward(n, g, input.get(), filter.get(), bias != nil, c)
	})
	return n.result(out, t, weight, bias)
}

// convTransposeBackward returns the gradients of input, weight and bias, in that order.
func convTransposeBackward(n *node, g, x, weight *Tensor, bias bool, c Conv) []*Tensor {
	w := g.w
	var dx, dw, db *Tensor
	dy := g
	if last := x.channelsLast(); g.channelsLast() != last {
		dy = g.inLayout(last)
	}
	mark := w.pin(dy)
	if n.needsGrad(0) {
		last := dy.channelsLast() || weight.channelsLast()
		dx = w.emptyStrided(x.size, layout(x.size, last), dy.dtype)
		inner := w.pin(weight.inLayout(last))
		w.pin(dy.inLayout(last))
		w.convScratch(c.product(kernel.FProp, dy.size, weight.size, dy.dtype, last))
		w.unpin(inner)
		w.convWork(dx, dy, weight)
	}
	if n.needsGrad(1) {
		dw = convWeightGrad(x, dy, weight.size, c)
		w.convWork(x, dy, dw)
	}
	w.unpin(mark)
	if bias && n.needsGrad(2) {
		db = g.reduce("sum", []int{0, 2, 3}, false, g.dtype)
	}
	return inputGrads(dx, dw, db)
}
