// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// One GPU's memory outside PyTorch's allocator, the CUDA context and the kernels, is a fact of its card:
// see outside in gpu/card.go. This file adds what a run over several GPUs takes.

// Memory that a run over several GPUs takes outside PyTorch's allocator, measured on
// the reference card: an NCCL communicator of one process took 558 MiB; the
// CUDA streams that FSDP2 makes took 70 MiB without the collectives
// themselves. A real communicator's size depends on the links between the
// cards, so FSDP2 and ZeRO are shown without one.
const (
	outsideNCCL    = 558 * units.MiB
	outsideStreams = 70 * units.MiB
)

// spread returns the card as seen by a process of a run over several GPUs.
func spread(card gpu.Card, d *setup.Dist) gpu.Card {
	if d == nil {
		return card
	}
	switch d.Kind {
	case "ddp":
		card.Outside += outsideNCCL
	case "fsdp2", "fsdp2-noreshard", "zero3":
		card.Outside += outsideStreams
	}
	return card
}

// Outside returns the memory that a process of this run holds outside PyTorch's allocator.
func Outside(s *setup.Setup, card gpu.Card) uint64 { return spread(card, s.Dist).Outside }

// Reservable returns the number of bytes that PyTorch may reserve in this run; 0 if the rest of the process
// fills the card. A card without a total has no limit.
func Reservable(s *setup.Setup, card gpu.Card) uint64 {
	if card.Total == 0 {
		return endless
	}
	return card.Total - min(Outside(s, card), card.Total)
}
