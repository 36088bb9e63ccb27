// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"cmp"

	"snug/internal/kernel"
	"snug/internal/shadow"
)

// Weights quantized by GPTQ. A layer has buffers: the weight, whose values share int32 words along the input; for each
// group of inputs a scale and a zero per output; and the group of each input. Their sizes are the same in AutoGPTQ 0.7,
// GPTQModel 7.3 and fms-acceleration's copy of GPTQModel. act_order (desc_act) changes only their contents.

// GPTQ describes weights quantized by GPTQ.
type GPTQ struct {
	Bits     int  // bits per value
	Group    int  // inputs that share a scale; 0 means all of them
	Function bool // the Triton kernels of AutoGPTQ and fms-acceleration; otherwise GPTQModel's layers
	InPlace  bool // PEFT before 0.16: the adapters' output is added in place
}

// word is the number of bits in a word of packed values.
const word = 32

// tuningCache is what Triton allocates to flush the GPU's cache while it tunes a kernel (testing.do_bench, 3.0).
const tuningCache = 256 << 20

// gptqState is what the layers of one model share.
type gptqState struct {
	GPTQ
	tuned map[int]bool // the weights' sizes for which the kernel has been tuned
}

// groups returns the number of groups of a layer's inputs; a size of 0 means one group.
func groups(in, size int) int { return kernel.CeilDiv(in, cmp.Or(size, in)) }

// loadPacked loads a model whose weights GPTQ or AWQ quantized: those of the linear layers inside its blocks; everything
// else is loaded unchanged. Under FSDP1, fms-acceleration stores the packed words as parameters of type p.Storage, so that they are
// sharded; scales and groups stay whole on each GPU.
func (b *Builder) loadPacked(p Quantization) {
	shared := &gptqState{tuned: map[int]bool{}}
	if p.GPTQ != nil {
		shared.GPTQ = *p.GPTQ
	}
	layers := map[*shadow.Tensor]*Linear{}
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && b.BlockOf(lin.At()) != "" && !b.unquantized(lin) {
			layers[lin.Weight] = lin
		}
	}
	b.Meta, b.W.Loaded = false, b.DType
	for _, t := range loadOrder(b.all) {
		switch lin := layers[t]; {
		case lin != nil && p.AWQ != nil:
			b.packAWQ(lin, p.AWQ)
		case lin != nil:
			b.packGPTQ(lin, shared, p)
		case !p.Sharded:
			t.Fill()
		}
	}
	if p.Prepare {
		b.castToFloat32()
	}
}

// unquantized reports whether GPTQ leaves a layer as it is: the router of a mixture of experts, as in AutoGPTQ's
// definition of Mixtral.
func (b *Builder) unquantized(lin *Linear) bool { return lin.output || lin.Router }

// packGPTQ allocates a layer's buffers in the order of their names.
func (b *Builder) packGPTQ(lin *Linear, shared *gptqState, p Quantization) {
	w, t := b.W, lin.Weight
	defer w.Tagged(shadow.Parameters, t.Name())()
	lin.quant, lin.flipped = &quantState{in: lin.In, out: lin.Out, dtype: shadow.Float16, gptq: shared}, false
	groups := groups(lin.In, shared.Group)
	w.Empty(shadow.Dims(lin.In), shadow.Int32).Hold() // g_idx
	storage := cmp.Or(p.Storage, shadow.Int32)
	per := int(shadow.Int32.Bytes() / storage.Bytes())
	t.PackAs(shadow.Dims(lin.In/word*shared.Bits, lin.Out*per), storage)
	zeros := shadow.Dims(groups, lin.Out/word*shared.Bits*per)
	if p.Sharded {
		t.ToMeta()
		lin.quant.zeros = b.frozenParameter(OwnerOf(t.Name())+".qzeros", zeros, storage).Numel()
	} else {
		w.Empty(zeros, storage).Hold()
	}
	w.Empty(shadow.Dims(groups, lin.Out), shadow.Float16).Hold() // scales
	if !shared.Function {
		w.Empty(shadow.Dims(word/shared.Bits), shadow.Int32).Hold() // the shifts that unpack a word
	}
}

// frozenParameter makes a frozen parameter of a given type on the meta device.
func (b *Builder) frozenParameter(name string, size shadow.Shape, dt shadow.DType) *shadow.Tensor {
	held, meta := b.DType, b.Meta
	b.DType, b.Meta = dt, true
	p := b.parameter(name, size)
	b.DType, b.Meta = held, meta
	p.SetTrained(false)
	return p
}

// forwardGPTQ is the forward of QuantLinear in qlinear_tritonv2.py, or of GPTQModel's TorchLinear, which computes for
// its Triton layers too while they are trained.
func (l *Linear) forwardGPTQ(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if !l.quant.gptq.Function {
		return l.multiplyDequantized(fn, x)
	}
	out := l.quant.gptqFunction(x).To(shadow.Float16)
	if l.Bias == nil {
		return out
	}
	return out.Add(l.Bias)
}

// gptqFunction is QuantLinearFunction (triton_utils/dequant.py): it keeps only the buffers, and dequantizes the weight
// again in backward.
func (q *quantState) gptqFunction(x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	return x.Function("QuantLinearFunctionBackward",
		func() *shadow.Tensor {
			defer w.NoGrad()()
			fn := w.Func(x)
			return fn.Return(x.Matmul(fn.Let(q.dequant248(w))))
		},
		func(g *shadow.Tensor) *shadow.Tensor {
			fn := w.Func(g)
			return fn.Return(g.Matmul(fn.Let(q.dequant248(w)).T()))
		})
}

// dequant248 returns the dequantized weight (in, out) in float16. The kernel is tuned whenever it meets a size for
// the first time.
func (q *quantState) dequant248(w *shadow.World) *shadow.Tensor {
	w.Op("dequant_kernel_248")
	out := w.Empty(shadow.Dims(q.in, q.out), q.dtype)
	if n := out.Numel(); q.gptq.Function && !q.gptq.tuned[n] {
		q.gptq.tuned[n] = true
		w.Scratch(tuningCache)
	}
	w.Launch(out)
	return out
}

// multiplyDequantized is TorchLinear._forward_eager. The product keeps the dequantized weight until backward. PyTorch
// compiles dequantize_weight, so that it allocates nothing but its result.
func (l *Linear) multiplyDequantized(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	weight := fn.Let(l.quant.dequant248(w))
	fn.Set(&weight, weight.To(x.DType()))
	out := x.Matmul(weight)
	if l.Bias != nil {
		out = out.AddInPlace(l.Bias)
	}
	return out
}

// Fuses reports whether the layer's product with x is one of Unsloth's functions.
func (l *Linear) Fuses(x *shadow.Tensor) bool {
	return l.Fused && l.lora != nil && l.quant != nil && !x.World().Unadapted
}

// FusedLoras applies several layers to x in one of Unsloth's functions.
func FusedLoras(x *shadow.Tensor, layers ...*Linear) []*shadow.Tensor {
	var fused []shadow.FusedLora
	for _, l := range layers {
		fused = append(fused, shadow.FusedLora{
			Dequantize: func() *shadow.Tensor { return l.quant.fastDequantize(x.World()) },
			Bias:       l.Bias, A: l.lora.a.Weight, B: l.lora.b.Weight, Drop: l.lora.drop, GPTQ: l.quant.gptq != nil,
		})
	}
	return x.FusedLoras(fused...)
}

// fastDequantize returns the weight (in, out): dequant248, or for bitsandbytes fast_dequantize, which makes the weight
// before its scales.
func (q *quantState) fastDequantize(w *shadow.World) *shadow.Tensor {
	if q.gptq != nil {
		return q.dequant248(w)
	}
	w.Op("fast_dequantize")
	out := w.Empty(shadow.Dims(q.out, q.in), q.dtype)
	w.Scratch(uint64(q.scales) * shadow.Float32.Bytes())
	w.Launch(out)
	return out.T()
}

// fused is FusedLoras for one layer.
func (l *Linear) fused(x *shadow.Tensor) *shadow.Tensor { return FusedLoras(x, l)[0] }

// forwardGPTQ is GPTQLoraLinear.forward (peft/tuners/lora/gptq.py).
func (ad *adapter) forwardGPTQ(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	if !ad.of.quant.gptq.InPlace {
		return ad.forwardPEFT(fn, x, result)
	}
	fn.Let(result)
	dtype, converts := result.DType(), x.World().AutocastType() == shadow.None
	if converts {
		fn.Set(&x, x.To(ad.a.Weight.DType()))
	}
	output := ad.delta(x)
	fn.Let(output)
	if converts {
		fn.Set(&output, output.To(dtype))
	}
	fn.Set(&result, result.AddInPlace(output))
	return result
}
