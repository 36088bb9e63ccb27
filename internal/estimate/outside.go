// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// Memory outside PyTorch's allocator (the CUDA context and the kernels) is a property of the card: see outside in
// gpu/card.go. This file adds the effect of the PyTorch version and of several GPUs.

// Memory that a run over several GPUs takes outside PyTorch's allocator, measured on the reference card: an NCCL
// communicator with one process took 558 MiB; the CUDA streams that FSDP2 creates took 70 MiB without the
// collectives themselves. The size of a real communicator depends on the links between the cards, so the figures
// for FSDP2 and ZeRO do not include one.
const (
	outsideNCCL    = 558 * units.MiB
	outsideStreams = 70 * units.MiB
)

// Memory outside PyTorch's allocator with PyTorch 2.4 and older. These are built with CUDA 12.1 and older, which load
// all kernels at start-up; CUDA 12.2 and later load a kernel when it is first used. The figures are the difference
// between nvidia-smi and the known reserved memory in published runs: transformers' guide to training on one GPU
// shows 1,343 MB on a V100 before any training, and fms-acceleration's benchmarks 1,698 MiB on an A100 in three runs.
const (
	eagerOnVolta  = 1281 * units.MiB
	eagerOnAmpere = 1698 * units.MiB
	firstLazy     = 5 // minor version of PyTorch 2
)

// spread returns the card as seen by a process of this run.
func spread(card gpu.Card, s *setup.Setup) gpu.Card {
	if torch, err := allocator.ParseVersion(s.Versions.Torch); err == nil && !torch.AtLeast(firstLazy) && card.Maker == gpu.NVIDIA && !card.Measured {
		card.Outside = eager(card)
	}
	if s.Dist == nil {
		return card
	}
	switch s.Dist.Kind {
	case "ddp":
		card.Outside += outsideNCCL
	case "fsdp2", "fsdp2-noreshard", "zero3":
		card.Outside += outsideStreams
	}
	return card
}

// eager returns the memory outside PyTorch's allocator if all kernels are loaded at start-up. For cards later than
// Ampere and Ada, no figures have been published.
func eager(card gpu.Card) uint64 {
	switch {
	case card.Capability >= 90:
		return card.Outside
	case card.Capability >= 80:
		return eagerOnAmpere
	}
	return eagerOnVolta
}

// Outside returns the memory that a process of this run uses outside PyTorch's allocator.
func Outside(s *setup.Setup, card gpu.Card) uint64 { return spread(card, s).Outside }

// Reservable returns the number of bytes that PyTorch may reserve in this run; 0 if the rest of the process
// fills the card. A card without a total has no limit.
func Reservable(s *setup.Setup, card gpu.Card) uint64 {
	if card.Total == 0 {
		return endless
	}
	return card.Total - min(Outside(s, card), card.Total)
}
