// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// Weights quantized by AWQ to 4 bits, in the GEMM format. A layer has buffers: the weight, whose values share int32 words
// along the output, and for each group of inputs a zero and a scale per output. transformers uses GPTQModel's layers, whose
// AwqGemmFn (7.3, nn_modules/qlinear/gemm_awq.py) is the same as AutoAWQ 0.2's WQLinearMMFunction.

const (
	awqBits  = 4
	awqFew   = 1024 // with at most this many rows, one kernel multiplies by the quantized weight
	awqSplit = 8    // number of partial sums of that kernel
)

// AWQ describes weights quantized by AWQ.
type AWQ struct {
	Group int // inputs that share a scale; 0 means all of them
}

// packAWQ allocates a layer's buffers in the order of their names.
func (b *Builder) packAWQ(lin *Linear, p *AWQ) {
	w, t := b.W, lin.Weight
	defer w.Tagged(shadow.Parameters, t.Name())()
	lin.quant, lin.flipped = &quantState{in: lin.In, out: lin.Out, dtype: shadow.Float16, awq: true}, false
	groups := groups(lin.In, p.Group)
	t.PackAs(shadow.Dims(lin.In, lin.Out*awqBits/word), shadow.Int32)
	w.Empty(shadow.Dims(groups, lin.Out*awqBits/word), shadow.Int32).Hold() // qzeros
	w.Empty(shadow.Dims(groups, lin.Out), shadow.Float16).Hold()            // scales
}

// forwardAWQ is AwqGEMMLinear.forward.
func (l *Linear) forwardAWQ(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	dtype := x.DType()
	if !dtype.Half() {
		fn.Set(&x, x.To(shadow.Float16))
	}
	fn.Set(&x, x.Contiguous())
	return l.quant.awqFunction(x, l.Bias).To(dtype)
}

// awqFunction is AwqGemmFn. It keeps its input, although its backward does not use it, and in backward it repeats the
// weight for each sample.
func (q *quantState) awqFunction(x, bias *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	return x.SavingFunction("AwqGemmFnBackward",
		func(x *shadow.Tensor) *shadow.Tensor {
			fn := w.Func(x)
			out := fn.Let(q.awqProduct(x))
			if bias != nil {
				fn.Set(&out, out.Add(bias))
			}
			return fn.Return(out)
		},
		func(g, _ *shadow.Tensor) *shadow.Tensor {
			fn := w.Func(g)
			weight := fn.Let(q.awqDequantize(w).To(g.DType()))
			repeated := weight.T().Unsqueeze(0).Expand(g.Size(0), q.out, q.in).Contiguous()
			return fn.Return(g.Matmul(repeated))
		})
}

// awqProduct multiplies x (B, S, In) by the weight.
func (q *quantState) awqProduct(x *shadow.Tensor) *shadow.Tensor {
	w, rows := x.World(), x.Numel()/q.in
	fn := w.Func(x)
	if rows > awqFew {
		return fn.Return(x.Matmul(fn.Let(q.awqDequantize(w).To(x.DType()))))
	}
	w.Op("awq_gemm_forward")
	parts := fn.Let(w.Empty(shadow.Dims(awqSplit, rows, q.out), x.DType()))
	w.Launch(parts, x)
	return fn.Return(parts.Sum(false, 0).ViewAs(x.Shape().With(-1, q.out)))
}

// awqDequantize returns the weight (in, out) in float16.
func (q *quantState) awqDequantize(w *shadow.World) *shadow.Tensor {
	w.Op("awq_dequantize_weights")
	out := w.Empty(shadow.Dims(q.in, q.out), q.dtype)
	w.Launch(out)
	return out
}

// forwardAWQ is AwqLoraLinear.forward (peft/tuners/lora/awq.py, 0.21). Types are converted only if autocast does not
// convert them.
func (ad *adapter) forwardAWQ(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	fn.Let(result)
	dtype, converts := result.DType(), x.World().AutocastType() == shadow.None
	if converts {
		fn.Set(&x, x.To(ad.a.Weight.DType()))
	}
	output := fn.Let(ad.b.Call(ad.a.Call(x.Dropout(ad.drop))))
	if converts {
		fn.Set(&output, output.To(dtype))
	}
	fn.Set(&output, output.MulScalar())
	fn.Set(&result, result.Add(output))
	return result
}
