// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"cmp"

	"snug/internal/gpu"
)

// Rates is the speed of a card.
type Rates struct {
	Bandwidth float64 // bytes per second
	Half      float64 // dense matrix operations per second in float16 and bfloat16
	TF32      float64 // dense matrix operations per second in TF32, which convolutions use for float32
	Single    float64 // operations per second in float32
	Older     float64 // 16-bit matrix rate of kernels that do not use the newest instructions
	SMs       int     // multiprocessors
	Link      float64 // bytes per second to other GPUs in the machine
	Network   float64 // bytes per second to GPUs in other machines
	sustained float64 // share of the matrix rates that large products reach
}

// perMachine is the maximum number of GPUs assumed to be in one machine, as in NVIDIA's DGX and HGX.
const perMachine = 8

// pcie is the bandwidth assumed between cards if the real one is unknown.
const pcie = gpu.PCIe4 * 1e9

// between returns the bandwidth among n GPUs.
func (r Rates) between(n int) float64 {
	link := cmp.Or(r.Link, pcie)
	if n > perMachine {
		return min(link, cmp.Or(r.Network, pcie))
	}
	return link
}

// RatesOf returns the speed of a card in the catalog, and false if it is unknown. The figures themselves are in
// gpu/catalog_*.go and gpu/links.go.
func RatesOf(c gpu.Card) (Rates, bool) {
	r := Rates{
		Bandwidth: c.Bandwidth,
		Half:      max(c.Rates.FP16, c.Rates.BF16),
		TF32:      c.Rates.TF32,
		Single:    c.Rates.FP32,
		SMs:       c.SMs,
		Older:     older(c),
		sustained: sustained(c),
		Link:      c.Link,
		Network:   c.Network,
	}
	if r.Half == 0 {
		r.Half = r.Single
	}
	return r, r.Bandwidth > 0 && r.Single > 0 && r.SMs > 0
}

// olderShare is the share of Hopper's and data-center Blackwell's matrix rate that kernels written for Ampere
// reach. These cards run at full speed only with new instructions (wgmma, tcgen05), which neither flash attention
// 2 nor the memory-efficient kernel uses. For mma.sync alone, without the rest of a kernel, 62.9 % was measured
// on the H100 (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
// Microbenchmarking", 2024); the share here, together with Constants.Attention, was measured with attention on
// the H200.
const olderShare = 0.52

// older returns the 16-bit matrix rate of kernels written for Ampere.
func older(c gpu.Card) float64 {
	rate := max(c.Rates.FP16, c.Rates.BF16)
	if c.Capability >= 90 && c.Capability < 120 {
		return olderShare * rate
	}
	return rate
}

// sustained returns the share of the data sheet's matrix rates that large products reach. On the data-center cards
// the power limit lowers the clock: 715 of 989 TFLOP/s were measured on the H200, and the same share in TF32 and
// float32. For the A100 and the H100, published maxima are 86 and 80 % (Bekman, "Machine Learning Engineering",
// maximum achievable matmul FLOPS); 0.8 and 0.75 keep their ratio. GeForce cards are limited to half the chip's
// rate, and come close to that because they run above the clock that their data sheets assume.
func sustained(c gpu.Card) float64 {
	switch {
	case c.Capability >= 90 && c.Capability < 120:
		return 0.75
	case c.Rates.BF16 > 0 && c.Rates.BF16 <= 2*c.Rates.FP32:
		return 0.95
	}
	return 0.8
}
