// SPDX-License-Identifier: Apache-2.0

package shadow

// Softmax is F.softmax(t, dim, dtype); None keeps the type. Autocast casts to float32 unless a type is
// given.
func (t *Tensor) Softmax(dt DType) *Tensor { return t.softmax("_softmax", "SoftmaxBackward0", dt) }

// LogSoftmax is F.log_softmax.
func (t *Tensor) LogSoftmax(dt DType) *Tensor {
	return t.softmax("_log_softmax", "LogSoftmaxBackward0", dt)
}

// softmax keeps its result. If the requested type is wider, a bfloat16 argument is copied first; for float16 the
// kernel itself writes float32.
func (t *Tensor) softmax(op, node string, dt DType) *Tensor {
	w := t.w
	if dt == None {
		dt = t.dtype
		if w.autocast != None && dt.Half() {
			dt = Float32
		}
	}
	mark := w.pin(t)
	in := t
	if dt != t.dtype && !(t.dtype == Float16 && dt == Float32) {
		in = t.cast(dt)
	}
	w.pin(in)
	n := w.record(node, in)
	w.Op(op)
	out := w.Empty(in.size, dt)
	w.rowMajor(in)()
	w.launchRows(out, in)
	result := n.save(out)
	from := in.dtype
	n.backward(func(g *Tensor) []*Tensor { return inputGrads(g.softmaxGrad(op, result.get(), from)) })
	n.output(out, 0)
	w.unpin(mark)
	return out
}

// softmaxGrad runs the backward kernel. For softmax, grad * output is computed first; for log-softmax it is not.
func (g *Tensor) softmaxGrad(op string, result *Tensor, dt DType) *Tensor {
	w := g.w
	w.Op(op + "_backward_data")
	out := w.Empty(result.size, dt)
	if op == "_softmax" {
		g = g.Mul(result)
	}
	c := g.Contiguous().Hold()
	w.launchRows(out, c, result)
	c.Drop()
	return out
}
