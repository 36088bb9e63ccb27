// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// LLM.int8(): bitsandbytes' 8-bit weights, 0.46 to 0.50 (nn/modules.py, autograd/_functions.py and backends/cuda/ops.py).
// A weight has one byte per number and one float32 scale per row. Each input is quantized by rows for the product.
//
// Input columns that contain a value of 6.0 or more are multiplied in 16 bits. How many there are depends on the data;
// none are counted here.

// quantize8bit is Bnb8bitQuantize in transformers 5.17 and Int8Params._quantize: the weight is on the GPU in its own
// type, and again in float16, until its quantized form exists. For a layer that was saved in 8 bits, it returns the
// tensor that identifies the weight format, which is freed when everything is loaded.
func (b *Builder) quantize8bit(lin *Linear, p Quantization) (format *shadow.Tensor) {
	w, t := b.W, lin.Weight
	defer w.Tagged(shadow.Parameters, t.Name())()
	lin.quant, lin.flipped = &quantState{in: lin.In, out: lin.Out, dtype: t.DType(), eight: true}, false
	if p.Saved {
		w.Empty(shadow.Dims(lin.Out), shadow.Float32).Hold()
		t.Pack(1, shadow.UInt8)
		return w.Empty(shadow.Dims(), shadow.UInt8).Hold()
	}
	fn := w.Func()
	whole := w.Empty(t.Shape(), t.DType()).Hold()
	fn.Let(w.Empty(t.Shape(), shadow.Float16))
	w.Empty(shadow.Dims(lin.Out), shadow.Float32).Hold()
	t.Pack(1, shadow.UInt8)
	fn.Return(nil)
	whole.Drop()
	return nil
}

// forward8bit is Linear8bitLt.forward. A bias of another type is cast permanently in the first forward that uses it.
func (l *Linear) forward8bit(_ *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	l.castBias(x.DType())
	return l.quant.matmul8bit(x)
}

// matmul8bit is MatMul8bitLt. Its context keeps the input as an attribute, not as a saved tensor: the input lives until
// the graph is freed, and no checkpoint recomputes it.
func (q *quantState) matmul8bit(x *shadow.Tensor) *shadow.Tensor {
	w, dtype, size := x.World(), x.DType(), x.Shape()
	return x.HoldingFunction("MatMul8bitLtBackward",
		func(x *shadow.Tensor) *shadow.Tensor {
			fn := w.Func()
			rows := x.Numel() / q.in
			ca, sca := q.quantizeRows(x.Reshape(rows, q.in))
			fn.Let2(ca, sca)
			return fn.Return(q.product8bit(w, rows, dtype)).ViewAs(size.With(-1, q.out))
		},
		func(g *shadow.Tensor) *shadow.Tensor {
			fn := w.Func()
			fn.Let(g)
			fn.Set(&g, g.Reshape(g.Numel()/q.out, q.out))
			weight := fn.Let(q.dequantize8bit(w, dtype))
			return fn.Return(g.To(dtype).Matmul(weight).ViewAs(size))
		})
}

// quantizeRows is int8_vectorwise_quant of the input in float16, with a search for outliers that finds none.
func (q *quantState) quantizeRows(x *shadow.Tensor) (ca, sca *shadow.Tensor) {
	w, rows := x.World(), x.Size(0)
	fn := w.Func()
	fn.Set(&x, x.To(shadow.Float16))
	w.Op("int8_vectorwise_quant")
	sca = fn.Let(w.Empty(shadow.Dims(rows), shadow.Float32))
	ca = fn.Let(w.Empty(x.Shape(), shadow.UInt8))
	outliers := fn.Let(x.Abs().Compare("ge"))
	outliers.Any(false, 0, 1).Hold().Drop()
	if rows > 1 {
		w.Scratch(1) // the zero that is written to the outlier columns
	}
	w.Launch(ca, x)
	fn.Del(&outliers)
	return fn.Return2(ca, sca)
}

// product8bit is int8_mixed_scaled_mm: a product in int32, scaled to float16, then cast to the input's type.
func (q *quantState) product8bit(w *shadow.World, rows int, dtype shadow.DType) *shadow.Tensor {
	fn := w.Func()
	w.Op("int8_mixed_scaled_mm")
	sums := fn.Let(w.Empty(shadow.Dims(rows, q.out), shadow.Int32))
	scaled := w.Empty(shadow.Dims(rows, q.out), shadow.Float16)
	w.Launch(scaled, sums)
	return fn.Return(scaled.To(dtype))
}

// dequantize8bit is state.CB.to(dtype, copy=True).mul_(state.SCB.unsqueeze(1).mul(1.0 / 127.0)).
func (q *quantState) dequantize8bit(w *shadow.World, dtype shadow.DType) *shadow.Tensor {
	w.Op("_to_copy")
	weight := w.Empty(shadow.Dims(q.out, q.in), dtype)
	w.Launch(weight)
	w.Op("mul")
	w.Scratch(uint64(q.out) * shadow.Float32.Bytes())
	return weight
}

// forward8bit is Linear8bitLt.forward in peft/tuners/lora/bnb.py, 0.21. It converts types only without autocast, which
// would convert them itself.
func (ad *adapter) forward8bit(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	fn.Let(result)
	return ad.addTo(fn, x, result)
}
