// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"snug/internal/family"
)

// The oldest and the newest transformers release whose code was read. The newest is the default. 445 stands for 4.45.
const (
	OldestTransformers        = "4.30"
	NewestTransformers        = "5.17"
	OldestTransformersRelease = 430
	NewestTransformersRelease = 517
)

// contemporary lists, for each PyTorch release, the transformers release that was the newest two PyTorch releases
// later: people upgrade transformers more often than PyTorch, which they keep for about two releases. It is assumed
// if a setup gives only the PyTorch version, because the newest transformers requires PyTorch 2.5.
var contemporary = []struct{ torch, transformers int }{
	{200, 437}, {201, 440}, {202, 443}, {203, 445}, {204, 448}, {205, 451}, {206, 455}, {207, 457}, {208, 457},
	{209, 503}, {210, 508},
}

// TransformersRelease returns the transformers release whose code runs: 445 for 4.45.
func (v Versions) TransformersRelease() int {
	if v.Transformers != "" {
		return release(v.Transformers)
	}
	torch := release(v.Torch)
	for _, c := range contemporary {
		if torch == c.torch {
			return c.transformers
		}
	}
	return NewestTransformersRelease
}

// AssumedTransformers returns the transformers release that is assumed if only PyTorch's is given; "" if transformers is
// given too, or if the newest known release applies.
func (v Versions) AssumedTransformers() string {
	n := v.TransformersRelease()
	if v.Transformers != "" || n == NewestTransformersRelease {
		return ""
	}
	return fmt.Sprintf("%d.%d", n/100, n%100)
}

// Reentrant reports whether checkpointing is reentrant: the setup's value, otherwise the default of
// gradient_checkpointing_enable, which was reentrant in transformers 4.
func (s *Setup) Reentrant() bool {
	if !s.Checkpointing || s.Model.Config == nil || !s.SimulatesReentrant() {
		return false
	}
	if s.UseReentrant != nil {
		return *s.UseReentrant
	}
	return s.Versions.TransformersRelease() < 500
}

// SimulatesReentrant reports whether reentrant checkpointing is simulated for the run. It is not with FSDP2
// and ZeRO-3, which gather parameters again for the second forward pass.
func (s *Setup) SimulatesReentrant() bool {
	return s.Dist == nil || s.Dist.Kind != Zero3 && (!s.Dist.FSDP() || s.DistKind() == FSDP1)
}

// DiffersByTransformers reports whether the run is simulated differently from one with the newest transformers.
func (s *Setup) DiffersByTransformers() bool {
	if s.UseReentrant == nil && s.Reentrant() || s.Model.HasExperts() && s.Versions.TransformersRelease() < 500 {
		return true
	}
	return s.Model.Head == family.CausalLM && s.Loss == "" && s.LossChunks < 2 && s.Model.facts().LossDiffers(s.Versions.TransformersRelease())
}
