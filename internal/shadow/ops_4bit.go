// SPDX-License-Identifier: Apache-2.0

package shadow

// forward4bit is Linear4bit.forward: the input goes to the type that is computed
// in, the result comes back. A bias of another type is cast for good, at the first
// forward that meets it; before 0.50 to the input's type, and from there each time.
func (l *Linear) forward4bit(fn *Frame, x *Tensor) *Tensor {
	dtype, older := x.dtype, x.w.Rules.BitsAndBytes < 50
	if older {
		l.castBias(dtype)
	}
	fn.Set(&x, x.To(l.quant.compute))
	bias := l.Bias
	switch {
	case bias == nil:
	case older:
		fn.Let(bias)
		fn.Set(&bias, bias.To(x.dtype))
	default:
		l.castBias(x.dtype)
	}
	return x.matmul4bit(l.quant, bias).To(dtype)
}

// castBias is bias.data = bias.data.to(dtype).
func (l *Linear) castBias(dt DType) {
	if l.Bias != nil && l.Bias.dtype != dt {
		l.Bias.w.op("_to_copy")
		l.Bias.castInPlace(dt)
	}
}

// matmul4bit is MatMul4Bit of bitsandbytes/autograd/_functions.py: one node that
// keeps nothing but the quantized weight, and dequantizes it again in backward.
func (t *Tensor) matmul4bit(q *quantState, bias *Tensor) *Tensor {
	w := t.w
	n := w.record("MatMul4BitBackward", t)
	defer w.NoGrad()()
	out := q.product(t, bias)
	n.backward(func(g *Tensor) []*Tensor {
		fn := w.Func(g)
		return each(fn.Return(g.Matmul(q.dequantize(w).To(g.dtype))))
	})
	return n.result(out, t)
}

// product is gemm_4bit for CUDA (backends/cuda/ops.py). One kernel does it where the
// rows are few, else the weight is dequantized and multiplied; autocast reaches that.
//
// Before 0.50 there was no such op: a weight was always dequantized, into the type that it
// had, and cast to the input's.
func (q *quantState) product(x, bias *Tensor) *Tensor {
	w := x.w
	fn := w.Func(x)
	if w.Rules.BitsAndBytes < 50 {
		return fn.Return(x.Linear(q.dequantize(w).To(x.dtype), bias))
	}
	if w.Rules.Fuses4bit(x.dtype.kernel(), x.Numel()/q.in, q.out, q.in) {
		fn.Set(&x, x.Contiguous())
		w.op("gemm_4bit")
		out := w.empty(x.size.with(x.size.n-1, q.out), x.dtype)
		w.kernel(out, x)
		return fn.Return(out)
	}
	if q.double {
		w.op("empty_like")
		fn.Let(w.empty(Dims(q.scales), Float32))
		w.op("add")
		fn.Let(w.empty(Dims(q.scales), Float32))
	}
	w.op("empty")
	weight := fn.Let(w.empty(Dims(q.out, q.in), x.dtype))
	w.kernel(weight)
	return fn.Return(x.Linear(weight, bias))
}

// dequantize is dequantize_4bit, which gives a weight in the type that it had.
func (q *quantState) dequantize(w *World) *Tensor {
	fn := w.Func()
	if q.double {
		w.op("dequantize_blockwise")
		fn.Let(w.empty(Dims(q.scales), Float32))
	}
	w.op("dequantize_4bit")
	out := fn.Let(w.empty(Dims(q.out, q.in), q.dtype))
	w.kernel(out)
	return fn.Return(out)
}

// forward4bit is Linear4bit.forward of peft/tuners/lora/bnb.py, 0.21. The result
// of the layer is copied; types are only seen to where autocast does not.
func (ad *adapter) forward4bit(fn *Frame, x, result *Tensor) *Tensor {
	fn.Let(result)
	fn.Set(&result, result.Clone())
	dtype, converts := result.dtype, x.w.autocast == None
	if converts {
		fn.Set(&x, x.To(ad.a.Weight.dtype))
	}
	output := ad.delta(x)
	fn.Let(output)
	if converts {
		fn.Set(&output, output.To(dtype))
	}
	fn.Set(&result, result.Add(output))
	return result
}
