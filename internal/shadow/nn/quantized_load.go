// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"snug/internal/shadow"
	"snug/internal/stream"
)

// How a quantized model is loaded, and which tensors trainers cast afterwards.

// warmUp is caching_allocator_warmup: memory for the whole model is allocated at once and freed, so that
// the allocator has it cached.
func (b *Builder) warmUp(layers map[*shadow.Tensor]*Linear, p Quantization) {
	halves := 0 // in half bytes: one for each 4-bit element
	for _, t := range b.all {
		switch {
		case layers[t] != nil && p.Eight:
			halves += 2 * t.Numel()
		case layers[t] != nil:
			halves += t.Numel()
		default:
			halves += 2 * int(t.Bytes())
		}
	}
	defer b.W.As(shadow.Parameters)()
	b.W.Scratch(uint64(halves/4) * shadow.Float16.Bytes())
}

// loadOrder returns parameters in the order in which from_pretrained loads them: by name,
// with numbers compared as numbers (dot_natural_key).
func loadOrder(all []*shadow.Tensor) []*shadow.Tensor {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(x, y *shadow.Tensor) int { return naturally(x.Name(), y.Name()) })
	return out
}

func naturally(x, y string) int {
	return slices.CompareFunc(strings.Split(x, "."), strings.Split(y, "."), func(x, y string) int {
		m, notX := strconv.Atoi(x)
		n, notY := strconv.Atoi(y)
		switch {
		case notX == nil && notY == nil:
			return cmp.Compare(m, n)
		case notX == nil:
			return -1
		case notY == nil:
			return 1
		}
		return strings.Compare(x, y)
	})
}

// castToFloat32 casts 16-bit parameters as PEFT 0.21's prepare_model_for_kbit_training does, and then empties the
// cache.
func (b *Builder) castToFloat32() {
	for _, p := range b.Parameters() {
		if p.DType().Half() {
			p.CastInPlace(shadow.Float32)
		}
	}
	b.W.Trace.Add(stream.EmptyCache, 0, 0)
}

// castBack is Axolotl 0.19's _convert_embedding_modules_dtype (loaders/model.py), which does not cast biases. The
// freed memory stays in the allocator's cache.
func (b *Builder) castBack() {
	for _, p := range b.Parameters() {
		if slices.ContainsFunc(axolotlCasts, func(part string) bool { return strings.Contains(p.Name(), part) }) {
			p.CastInPlace(b.DType)
		}
	}
}

// axolotlCasts are the substrings by which Axolotl selects the parameters to cast.
var axolotlCasts = []string{"norm", "embed_tokens", "lm_head", "embed_in", "embed_out"}

// CastTrained casts the trained parameters one by one, as TRL 1.16 does with adapters on quantized weights
// (trainer/sft_trainer.py).
func (b *Builder) CastTrained(dt shadow.DType) {
	for _, p := range b.Trainable() {
		p.CastInPlace(dt)
	}
}

// CastEmbeddings is peft_module_casting_to_bf16 in TRL up to 0.24 (trainer/utils.py), called on a model that
// prepare_model_for_kbit_training has cast to float32. The norms stay in float32.
func (b *Builder) CastEmbeddings() {
	for _, p := range b.Parameters() {
		if p.DType() == shadow.Float32 && slices.ContainsFunc(trlCasts, func(part string) bool { return strings.Contains(p.Name(), part) }) {
			p.CastInPlace(shadow.BFloat16)
		}
	}
}

// trlCasts are the substrings by which TRL selects the modules to cast.
var trlCasts = []string{"lm_head", "embed_tokens", "wte", "wpe"}
