// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"snug/internal/setup"
	"snug/internal/shadow/nn"
)

// quantize loads the model with its linear layers quantized, if the setup requires it.
func (r *run) quantize() error {
	p := r.s.Quantization
	if p == nil {
		return nil
	}
	if d := r.s.Dist; d != nil && d.Kind != setup.DDP {
		return setup.Wrong("{quantization.bits}: with {dist.kind} %s quantized weights are not simulated; use one GPU or ddp", d.Kind)
	}
	if !r.builder.Quantizes() {
		return setup.Wrong("{quantization.bits}: %s has no linear layers to quantize; remove it", r.s.Model.Title())
	}
	r.builder.Quantize(nn.Quantization{Double: p.Double, Compute: typeOf(p.Compute), Prepare: p.Prepare, CastBack: p.CastBack, Saved: p.Saved})
	return nil
}
