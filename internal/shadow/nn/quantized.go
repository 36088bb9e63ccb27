// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"cmp"
	"slices"

	"snug/internal/kernel"
	"snug/internal/shadow"
)

// bitsandbytes' quantized weights. This file has the sizes of 4-bit ones, 0.50 (nn/modules.py and functional.py), as from_pretrained in
// transformers 5.17 loads them (core_model_loading.py, quantizers/quantizer_bnb_4bit.py): each weight is moved to
// the GPU in full, quantized there, and freed before the next one.

const (
	quantBlock = 64  // numbers that share a scale
	scaleBlock = 256 // scales that share a second scale, with double quantization
	quantCodes = 16  // number of 4-bit values
	scaleCodes = 256 // number of 8-bit values
)

// Quantization describes how the frozen weights of linear layers are quantized. The choice of 4-bit type does not
// affect memory.
type Quantization struct {
	Eight    bool         // 8-bit weights; 4-bit otherwise
	Double   bool         // double quantization: scales are quantized to 8 bits
	Compute  shadow.DType // bnb_4bit_compute_dtype: inputs and dequantized weights are cast to it
	Storage  shadow.DType // bnb_4bit_quant_storage: the type of the tensor that holds quantized weights; None means uint8
	Sharded  bool         // FSDP: quantized weights go to host memory, and their scales stay on the GPU
	Prepare  bool         // prepare_model_for_kbit_training: weights that are not quantized become float32
	Saved    bool         // the checkpoint contains quantized weights, so no weight is ever loaded in full
	GPTQ     *GPTQ        // weights quantized by GPTQ, or nil
	AWQ      *AWQ         // weights quantized by AWQ, or nil
	CastBack bool         // norms, embeddings and head are cast back afterwards, as Axolotl does
}

// quantState holds the data needed to dequantize a weight: bitsandbytes' QuantState.
type quantState struct {
	in, out int
	dtype   shadow.DType // type of the weight before it was quantized
	compute shadow.DType
	double  bool
	scales  int // number of scales
	eight   bool
	gptq    *gptqState // for GPTQ
	awq     bool       // for AWQ
	zeros   int        // elements of GPTQ's zeros, if they are a parameter
}

// forwardQuantized runs a layer with a quantized weight, without its adapters.
func (l *Linear) forwardQuantized(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	switch {
	case l.quant.gptq != nil:
		return l.forwardGPTQ(fn, x)
	case l.quant.awq:
		return l.forwardAWQ(fn, x)
	case l.quant.eight:
		return l.forward8bit(fn, x)
	}
	return l.forward4bit(fn, x)
}

// forwardQuantized adds the adapters' output to the result of a layer with a quantized weight.
func (ad *adapter) forwardQuantized(fn *shadow.Frame, x, result *shadow.Tensor) *shadow.Tensor {
	switch {
	case ad.of.quant.gptq != nil:
		return ad.forwardGPTQ(fn, x, result)
	case ad.of.quant.awq:
		return ad.forwardAWQ(fn, x, result)
	case ad.of.quant.eight:
		return ad.forward8bit(fn, x, result)
	}
	return ad.forward4bit(fn, x, result)
}

// Quantize loads a model whose parameters are on the meta device: weights of linear layers are quantized,
// except for the output layer, and everything else is loaded unchanged.
func (b *Builder) Quantize(p Quantization) {
	if p.GPTQ != nil || p.AWQ != nil {
		b.loadPacked(p)
		return
	}
	layers := map[*shadow.Tensor]*Linear{}
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && b.converts(lin) {
			layers[lin.Weight] = lin
		}
	}
	if !p.Sharded {
		b.warmUp(layers, p)
	}
	b.Meta, b.W.Loaded = false, b.DType
	var formats []*shadow.Tensor
	for _, t := range loadOrder(b.all) {
		if lin := layers[t]; lin != nil && p.Eight {
			formats = append(formats, b.quantize8bit(lin, p))
		} else if lin != nil {
			b.quantize(lin, p)
		} else if !p.Sharded {
			t.Fill()
		}
	}
	for _, t := range formats {
		t.Drop()
	}
	if p.Prepare {
		b.castToFloat32()
	}
	if p.CastBack {
		b.castBack()
	}
}

// Quantizes reports whether the model has linear layers that would be quantized.
func (b *Builder) Quantizes() bool {
	return slices.ContainsFunc(b.layers, func(m any) bool {
		lin, ok := m.(*Linear)
		return ok && b.converts(lin)
	})
}

// converts reports whether bitsandbytes replaces a linear layer: all but the output layer, and that too if transformers
// does not recognize it. Transformers 5 excludes the name of the last parameter without ".weight", which is no layer's
// name if the layer has a bias.
func (b *Builder) converts(lin *Linear) bool {
	return !lin.output || b.WholeQuantized && lin.Bias != nil
}

// quantize is Params4bit._quantize and quantize_4bit: the full weight is freed once its quantized form
// exists.
func (b *Builder) quantize(lin *Linear, p Quantization) {
	w, t := b.W, lin.Weight
	defer w.Tagged(shadow.Parameters, t.Name())()
	n := t.Numel()
	q := &quantState{in: lin.In, out: lin.Out, dtype: t.DType(), compute: p.Compute, double: p.Double, scales: kernel.CeilDiv(n, quantBlock)}
	lin.quant, lin.flipped = q, false
	storage := cmp.Or(p.Storage, shadow.UInt8)
	if p.Saved {
		t.Pack(2, storage)
		b.placeScales(q)
		return
	}
	whole := w.Empty(t.Shape(), t.DType()).Hold()
	scales := w.Empty(shadow.Dims(q.scales), shadow.Float32).Hold()
	t.Pack(2, storage)
	w.Empty(shadow.Dims(quantCodes), shadow.Float32).Hold()
	w.Scratch(quantCodes * shadow.Float32.Bytes()) // absolute values of the codes, to find their maximum
	if p.Double {
		b.quantizeScales(scales)
	}
	whole.Drop()
	if p.Sharded {
		t.ToMeta()
	}
}

// placeScales is QuantState.from_dict: it allocates the data that a file stores with a quantized weight.
func (b *Builder) placeScales(q *quantState) {
	w := b.W
	if q.double {
		w.Empty(shadow.Dims(), shadow.Float32).Hold()
		w.Empty(shadow.Dims(kernel.CeilDiv(q.scales, scaleBlock)), shadow.Float32).Hold()
		w.Empty(shadow.Dims(scaleCodes), shadow.Float32).Hold()
		w.Empty(shadow.Dims(q.scales), shadow.UInt8).Hold()
	} else {
		w.Empty(shadow.Dims(q.scales), shadow.Float32).Hold()
	}
	w.Empty(shadow.Dims(quantCodes), shadow.Float32).Hold()
}

// quantizeScales quantizes the scales too, relative to their mean.
func (b *Builder) quantizeScales(scales *shadow.Tensor) {
	w, n := b.W, scales.Numel()
	defer w.NoGrad()()
	mean := scales.Mean(false, 0).Hold()
	apart := scales.Sub(mean).Hold()
	if !b.mapped { // a table that is allocated once and kept
		b.mapped = true
		w.Empty(shadow.Dims(scaleCodes), shadow.Float32).Hold()
	}
	w.Empty(shadow.Dims(kernel.CeilDiv(n, scaleBlock)), shadow.Float32).Hold()
	w.Empty(shadow.Dims(n), shadow.UInt8).Hold()
	w.Empty(shadow.Dims(scaleCodes), shadow.Float32).Hold()
	apart.Drop()
	scales.Drop()
}

// quantizedAway returns how many more elements the weights had before they were quantized, because several quantized
// values share an element.
func (b *Builder) quantizedAway() (n int) {
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.quant != nil {
			n += lin.In*lin.Out - lin.Weight.Numel() - lin.quant.zeros
		}
	}
	return n
}

// QuantizedLayers returns the paths of the layers whose weights are quantized.
func (b *Builder) QuantizedLayers() (out []string) {
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.quant != nil {
			out = append(out, lin.At())
		}
	}
	return out
}
