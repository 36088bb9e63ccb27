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

// contemporary is, for each PyTorch release, the newest transformers at the time of the next PyTorch release but one:
// people upgrade transformers more often than PyTorch, which they keep for about two releases. It is assumed if a
// setup gives only the PyTorch version, because the newest transformers requires PyTorch 2.5.
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

// AssumedTransformers returns the release that is assumed because only PyTorch's is given; "" if it was given or is
// the newest known.
func (v Versions) AssumedTransformers() string {
	n := v.TransformersRelease()
	if v.Transformers != "" || n == NewestTransformersRelease {
		return ""
	}
	return fmt.Sprintf("%d.%d", n/100, n%100)
}

// ReentrantByDefault reports whether gradient_checkpointing_enable defaults to the older, reentrant kind of
// checkpointing, as in transformers 4. Under FSDP2 and DeepSpeed only the newer kind is simulated.
func (s *Setup) ReentrantByDefault() bool {
	switch {
	case !s.Checkpointing || s.Model.Config == nil || s.Dist.DeepSpeed():
		return false
	case s.Dist.FSDP() && s.DistKind() != FSDP1:
		return false
	}
	return s.Versions.TransformersRelease() < 500
}

// MovedByTransformers reports whether the run is simulated differently than with the newest transformers.
func (s *Setup) MovedByTransformers() bool {
	if s.ReentrantByDefault() || s.Model.HasExperts() && s.Versions.TransformersRelease() < 500 {
		return true
	}
	return s.Model.Head == family.CausalLM && s.Loss == "" && s.LossChunks < 2 && s.Model.facts().LossMoved(s.Versions.TransformersRelease())
}
