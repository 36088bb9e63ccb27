// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"snug/internal/family"
)

// The releases of transformers whose code was read: the oldest, and the newest, which models are
// simulated as by default. A release is 445 for 4.45.
const (
	OldestTransformers        = "4.30"
	NewestTransformers        = "5.17"
	OldestTransformersRelease = 430
	NewestTransformersRelease = 517
)

// contemporary is, for each release of PyTorch, the newest transformers when the next PyTorch came out.
// It is assumed where a setup gives the one and not the other: the newest transformers needs PyTorch 2.5.
var contemporary = []struct{ torch, transformers int }{
	{201, 437}, {202, 440}, {203, 443}, {204, 445}, {205, 448}, {206, 451}, {207, 455}, {208, 457}, {209, 457},
}

// TransformersRelease returns the release of transformers whose code runs: 445 for 4.45.
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

// AssumedTransformers returns the release that is assumed because only PyTorch's is given; "" if it is the newest
// known or was given.
func (v Versions) AssumedTransformers() string {
	n := v.TransformersRelease()
	if v.Transformers != "" || n == NewestTransformersRelease {
		return ""
	}
	return fmt.Sprintf("%d.%d", n/100, n%100)
}

// ReentrantByDefault reports whether gradient_checkpointing_enable asks for the older kind of
// checkpointing where nothing is said: in transformers 4. Under FSDP2 and DeepSpeed only the newer kind is
// simulated.
func (s *Setup) ReentrantByDefault() bool {
	switch {
	case !s.Checkpointing || s.Model.Config == nil || s.Dist.DeepSpeed():
		return false
	case s.Dist.FSDP() && s.DistKind() != FSDP1:
		return false
	}
	return s.Versions.TransformersRelease() < 500
}

// MovedByTransformers reports whether the run is simulated differently from one with the newest
// transformers.
func (s *Setup) MovedByTransformers() bool {
	if s.ReentrantByDefault() || s.Model.HasExperts() && s.Versions.TransformersRelease() < 500 {
		return true
	}
	return s.Model.Head == family.CausalLM && s.Loss == "" && s.LossChunks < 2 && s.Model.facts().LossMoved(s.Versions.TransformersRelease())
}
