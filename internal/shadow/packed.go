// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// Weights packed into 4 bits by bitsandbytes, 0.50 (nn/modules.py and
// functional.py), as from_pretrained of transformers 5.17 loads them
// (core_model_loading.py, quantizers/quantizer_bnb_4bit.py): each weight comes to
// the GPU whole, is packed there, and goes before the next one comes.

const (
	packedBlock = 64  // numbers that share a scale
	scaleBlock  = 256 // scales that share one, where those are packed too
	packedCodes = 16  // numbers that 4 bits can mean
	scaleCodes  = 256 // and 8 bits
)

// Packed is how the frozen weights of linear layers are packed. Which 16 numbers
// the 4 bits stand for does not matter to memory.
type Packed struct {
	Double  bool  // scales are packed too, into 8 bits
	Compute DType // bnb_4bit_compute_dtype: inputs are cast to it, and so are results of unpacking
	Raised  bool  // prepare_model_for_kbit_training: what is not packed becomes float32
	Saved   bool  // files hold them packed: no weight is ever whole
	Lowered bool  // norms, embeddings and head are cast back after that, as Axolotl does
}

// quantState is what a packed weight is unpacked by: bitsandbytes' QuantState.
type quantState struct {
	in, out int
	dtype   DType // of the weight before it was packed
	compute DType
	double  bool
	scales  int // how many
}

// Pack loads a model whose parameters are on the meta device: weights of linear
// layers packed, but for the one that makes logits, and the rest as it is.
func (b *Builder) Pack(p Packed) {
	layers := map[*Tensor]*Linear{}
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && !lin.output {
			layers[lin.Weight] = lin
		}
	}
	b.warmUp(layers)
	b.Meta, b.W.loaded = false, b.DType
	for _, t := range loadOrder(b.all) {
		if lin := layers[t]; lin != nil {
			b.pack(lin, p)
		} else {
			t.fill()
		}
	}
	if p.Raised {
		b.raise()
	}
	if p.Lowered {
		b.lower()
	}
}

// Packs tells whether the model has linear layers that would be packed.
func (b *Builder) Packs() bool {
	return slices.ContainsFunc(b.layers, func(m any) bool {
		lin, ok := m.(*Linear)
		return ok && !lin.output
	})
}

// pack is Params4bit._quantize and quantize_4bit: the whole weight goes when what
// it is packed into is there.
func (b *Builder) pack(lin *Linear, p Packed) {
	w, t := b.W, lin.Weight
	defer w.As(Parameters)()
	was := w.path
	w.path = []string{t.name}
	defer func() { w.path = was }()
	n := t.Numel()
	q := &quantState{in: lin.In, out: lin.Out, dtype: t.dtype, compute: p.Compute, double: p.Double, scales: ceilDiv(n, packedBlock)}
	lin.quant, lin.flipped = q, false
	if p.Saved {
		t.becomeBytes(n)
		b.placeScales(q)
		return
	}
	whole := w.alloc(t.Bytes())
	scales := w.empty(Dims(q.scales), Float32).hold()
	t.becomeBytes(n)
	w.empty(Dims(packedCodes), Float32).hold()
	w.scratch(packedCodes * Float32.Bytes()) // without their signs, for the largest
	if p.Double {
		b.packScales(scales)
	}
	w.release2(whole)
}

// becomeBytes gives a weight of n numbers its memory, two of them in a byte.
func (t *Tensor) becomeBytes(n int) {
	t.size, t.dtype = Dims((n+1)/2, 1), UInt8
	t.stride = t.size.contiguous()
	t.mem = t.w.alloc(t.Bytes())
}

// placeScales is QuantState.from_dict: what a file holds beside a packed weight.
func (b *Builder) placeScales(q *quantState) {
	w := b.W
	if q.double {
		w.empty(Dims(), Float32).hold()
		w.empty(Dims(ceilDiv(q.scales, scaleBlock)), Float32).hold()
		w.empty(Dims(scaleCodes), Float32).hold()
		w.empty(Dims(q.scales), UInt8).hold()
	} else {
		w.empty(Dims(q.scales), Float32).hold()
	}
	w.empty(Dims(packedCodes), Float32).hold()
}

// packScales packs the scales too, about their mean.
func (b *Builder) packScales(scales *Tensor) {
	w, n := b.W, scales.Numel()
	defer w.NoGrad()()
	mean := scales.Mean(false, 0).hold()
	apart := scales.Sub(mean).hold()
	if !b.mapped { // a table that is made once and stays
		b.mapped = true
		w.empty(Dims(scaleCodes), Float32).hold()
	}
	w.empty(Dims(ceilDiv(n, scaleBlock)), Float32).hold()
	w.empty(Dims(n), UInt8).hold()
	w.empty(Dims(scaleCodes), Float32).hold()
	apart.drop()
	scales.drop()
}

// packedAway is how many more numbers are in packed weights than bytes.
func (b *Builder) packedAway() (n int) {
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.quant != nil {
			n += lin.In*lin.Out - lin.Weight.Numel()
		}
	}
	return n
}

// PackedLayers is the paths of the layers whose weights are packed.
func (b *Builder) PackedLayers() (out []string) {
	for _, m := range b.layers {
		if lin, ok := m.(*Linear); ok && lin.quant != nil {
			out = append(out, lin.At())
		}
	}
	return out
}
