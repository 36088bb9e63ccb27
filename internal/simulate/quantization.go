// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"snug/internal/setup"
	"snug/internal/shadow/nn"
)

// contemporaryPEFT is the transformers release that was the newest when PEFT 0.16 appeared.
const contemporaryPEFT = 453

// quantize loads the model with its linear layers quantized, if the setup requires it.
func (r *run) quantize() error {
	p := r.s.Quantization
	if p == nil {
		return nil
	}
	if !r.builder.Quantizes() {
		return setup.Wrong("{quantization.bits}: %s has no linear layers to quantize; remove it", r.s.Model.Title())
	}
	how := nn.Quantization{Eight: p.Bits == setup.EightBits && !p.Packed(), Double: p.Double, Compute: typeOf(p.Compute), Prepare: p.Prepare, CastBack: p.CastBack, Saved: p.Saved}
	if r.s.Dist.FSDP() {
		how.Sharded, how.Storage = true, r.builder.DType // FSDP refuses blocks that mix types
	}
	switch {
	case p.ByGPTQ():
		how.GPTQ = &nn.GPTQ{
			Bits: p.Bits, Group: p.Grouped(), Function: p.Kernel == setup.TritonV2,
			InPlace: r.s.Versions.TransformersRelease() < contemporaryPEFT,
		}
	case p.Packed():
		how.AWQ = &nn.AWQ{Group: p.Grouped()}
	}
	r.builder.Quantize(how)
	return nil
}
