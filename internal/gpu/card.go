// SPDX-License-Identifier: Apache-2.0

// Package gpu is a catalog of GPUs: how much memory each offers a process, how fast it is, and what decides which
// kernels PyTorch runs on it. The catalog allows planning without a GPU; Detect lists this machine's GPUs through
// the given sources.
package gpu

import (
	"slices"

	"snug/internal/units"
)

// Maker is the manufacturer of a card.
type Maker string

// The manufacturers whose cards PyTorch supports.
const (
	NVIDIA Maker = "NVIDIA" // GeForce, RTX, A100, H100, …
	AMD    Maker = "AMD"    // Instinct and Radeon
)

// Card is one GPU model.
type Card struct {
	Name       string  // as in "RTX 4090"
	Maker      Maker   // manufacturer
	Memory     int     // nominal GB
	Total      uint64  // bytes, as cudaMemGetInfo reports them
	Seen       bool    // Total was read on this card model, not computed
	Outside    uint64  // memory of a training process outside PyTorch's allocator: context, kernels
	Measured   bool    // Outside was measured on this card, not assumed from another
	Arch       string  // the compiler's name for the architecture: sm_90, gfx942
	Capability int     // compute capability: 90 for sm_90, 0 for AMD
	SMs        int     // multiprocessors, or AMD's compute units
	Bandwidth  float64 // memory bandwidth, in bytes per second
	Rates      Rates   // arithmetic throughput
	Link       float64 // bandwidth to another card in the same machine, in bytes per second in each direction
	Network    float64 // bandwidth between two machines with these cards, in bytes per second

	Unnamed bool // only Total is known; the other fields are the reference card's
	Least   bool // Total is the smallest among cards with this nominal Memory
	Resized bool // Total was given by the user and differs from the card's
}

// Rates are peak dense rates in operations per second (a multiply-add is two), with fp32 accumulation as in training;
// 0 if the card has no hardware for it.
type Rates struct {
	FP32 float64 // on the plain cores
	TF32 float64 // fp32 matrices on the tensor cores
	FP16 float64 // float16 matrices on the tensor cores
	BF16 float64 // bfloat16 matrices on the tensor cores
	FP8  float64 // 8-bit floats on the tensor cores
}

// Reference is the card used for the measurements.
var Reference = datacenter[slices.IndexFunc(datacenter, func(s spec) bool { return s.name == "H200" })].card(NVIDIA)

// Memory of a process outside PyTorch's allocator on the reference card: 742 to 762 MiB in 165 training runs
// (driver 580, CUDA 13.0, PyTorch 2.11). The lower figure is for runs without matrix products.
const (
	outsideMeasured = 758 * units.MiB
	outsideOlder    = 520 * units.MiB
)

// outside returns the assumed memory outside PyTorch for a card without measurements: the reference's for its own
// and later generations and for AMD, and less for older generations, which have smaller kernels. Additions for
// older PyTorch versions and several GPUs are in estimate/outside.go.
func outside(capability int) uint64 {
	if capability > 0 && capability < 90 {
		return outsideOlder
	}
	return outsideMeasured
}

// BF16 reports whether the card computes in bf16. Older cards emulate it, at a fraction of the speed of fp16.
func (c Card) BF16() bool { return c.Rates.BF16 > 0 || c.Maker == NVIDIA && c.Capability >= 80 }

// LacksBF16 reports whether the card is known to have no hardware for bf16. It is false for a card of
// unknown generation.
func (c Card) LacksBF16() bool {
	return !c.BF16() && (c.Capability > 0 || c.Maker == AMD && c.Rates.FP16 > 0)
}

// TF32 reports whether the tensor cores multiply fp32 matrices.
func (c Card) TF32() bool { return c.Rates.TF32 > 0 || c.Maker == NVIDIA && c.Capability >= 80 }

// FP8 reports whether the card multiplies fp8 matrices.
func (c Card) FP8() bool { return c.Rates.FP8 > 0 || c.Maker == NVIDIA && c.Capability >= 89 }

// Flash reports whether PyTorch's flash attention has kernels for the card: from sm_80, from gfx90a
// among AMD's data-center cards, and from gfx1100 among its other cards.
func (c Card) Flash() bool {
	if c.Maker == AMD {
		return c.Arch != "gfx908" && c.Arch != "gfx906"
	}
	return c.Capability >= 80
}

// LacksFlash reports whether the card is known to have no flash attention kernels.
func (c Card) LacksFlash() bool { return !c.Flash() && (c.Capability > 0 || c.Maker == AMD) }

// Precisions returns the values of `precision` that make sense on the card: fastest first, and the simplest first
// among equals.
func (c Card) Precisions() []string {
	if c.BF16() {
		return []string{"bf16", "amp-bf16", "amp-fp16", "fp16", "fp32"}
	}
	return []string{"amp-fp16", "fp16", "fp32"}
}
