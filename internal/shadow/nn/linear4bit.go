// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// forward4bit is Linear4bit.forward: the input is cast to the compute type, and the result is cast back. A bias
// of another type is cast permanently in the first forward that uses it. Before 0.50 the bias was cast to the input's
// type, and then again in each forward.
func (l *Linear) forward4bit(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	dtype, older := x.DType(), x.World().Rules.BitsAndBytes < 50
	if older {
		l.castBias(dtype)
	}
	fn.Set(&x, x.To(l.quant.compute))
	bias := l.Bias
	switch {
	case bias == nil:
	case older:
		fn.Let(bias)
		fn.Set(&bias, bias.To(x.DType()))
	default:
		l.castBias(x.DType())
	}
	return l.quant.matmul(x, bias).To(dtype)
}

// castBias is bias.data = bias.data.to(dtype).
func (l *Linear) castBias(dt shadow.DType) {
	if l.Bias != nil && l.Bias.DType() != dt {
		l.Bias.World().Op("_to_copy")
		l.Bias.CastInPlace(dt)
	}
}

// matmul is MatMul4Bit in bitsandbytes/autograd/_functions.py: one node that keeps only the quantized weight and
// dequantizes it again in backward.
func (q *quantState) matmul(x, bias *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	return x.Function("MatMul4BitBackward",
		func() *shadow.Tensor {
			defer w.NoGrad()()
			return q.product(x, bias)
		},
		func(g *shadow.Tensor) *shadow.Tensor {
			fn := w.Func(g)
			return fn.Return(g.Matmul(q.dequantize(w).To(g.DType())))
		})
}

// product is gemm_4bit for CUDA (backends/cuda/ops.py). With few rows it is one kernel;
// otherwise the weight is dequantized and multiplied, subject to autocast.
//
// Before 0.50 there was no such op: a weight was always dequantized to its original type, then cast to the
// input's.
func (q *quantState) product(x, bias *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn := w.Func(x)
	if w.Rules.BitsAndBytes < 50 {
		return fn.Return(x.Linear(q.dequantize(w).To(x.DType()), bias))
	}
	if w.Rules.Fuses4bit(x.DType().Kernel(), x.Numel()/q.in, q.out, q.in) {
		fn.Set(&x, x.Contiguous())
		w.Op("gemm_4bit")
		out := w.Empty(x.Shape().With(-1, q.out), x.DType())
		w.Launch(out, x)
		return fn.Return(out)
	}
	if q.double {
		w.Op("empty_like")
		fn.Let(w.Empty(shadow.Dims(q.scales), shadow.Float32))
		w.Op("add")
		fn.Let(w.Empty(shadow.Dims(q.scales), shadow.Float32))
	}
	w.Op("empty")
	weight := fn.Let(w.Empty(shadow.Dims(q.out, q.in), x.DType()))
	w.Launch(weight)
	return fn.Return(x.Linear(weight, bias))
}

// dequantize is dequantize_4bit, which returns a weight in its original type.
func (q *quantState) dequantize(w *shadow.World) *shadow.Tensor {
	fn := w.Func()
	if q.double {
		w.Op("dequantize_blockwise")
		fn.Let(w.Empty(shadow.Dims(q.scales), shadow.Float32))
	}
	w.Op("dequantize_4bit")
	out := fn.Let(w.Empty(shadow.Dims(q.out, q.in), q.dtype))
	w.Launch(out)
	return fn.Return(out)
}

// forward4bit is Linear4bit.forward in peft/tuners/lora/bnb.py, 0.21. The result of the layer is copied; types are
// converted only if autocast does not convert them.
func (ad *adapter) forward4bit(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	fn.Let(result)
	fn.Set(&result, result.Clone())
	return ad.addTo(fn, x, result)
}

// addTo adds the adapters' output to the result of a layer with a quantized weight.
func (ad *adapter) addTo(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	dtype, converts := result.DType(), x.World().AutocastType() == shadow.None
	if converts {
		fn.Set(&x, x.To(ad.a.Weight.DType()))
	}
	output := ad.delta(x)
	fn.Let(output)
	if converts {
		fn.Set(&output, output.To(dtype))
	}
	fn.Set(&result, result.Add(output))
	return result
}
