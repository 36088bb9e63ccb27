// SPDX-License-Identifier: Apache-2.0

package gpu

import "snug/internal/kernel"

// Kernels is what kernels are chosen by on the card, under a release of PyTorch (211
// for 2.11). Of a card without a compute capability the reference's are the nearest
// known: of AMD's, whose kernels are others, and of no card at all, which stands for
// the reference.
func (c Card) Kernels(torch int) kernel.Rules {
	r := kernel.Rules{Torch: torch, Capability: c.Capability, SMs: c.SMs, Unnamed: c.Unnamed, Foreign: c.Maker == AMD}
	if c.Capability == 0 {
		r.Capability, r.SMs = Reference.Capability, Reference.SMs
	}
	return r
}
