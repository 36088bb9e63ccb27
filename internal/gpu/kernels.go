// SPDX-License-Identifier: Apache-2.0

package gpu

import "snug/internal/kernel"

// Kernels returns the rules that choose kernels on the card, under a PyTorch release (211 for 2.11). A card without
// a compute capability gets the rules of the reference card. These are AMD cards, for which no closer rules are
// known, and the zero Card, which means the reference.
func (c Card) Kernels(torch int) kernel.Rules {
	r := kernel.Rules{Torch: torch, Capability: c.Capability, SMs: c.SMs, Unnamed: c.Unnamed, Foreign: c.Maker == AMD}
	if c.Capability == 0 {
		r.Capability, r.SMs = Reference.Capability, Reference.SMs
	}
	return r
}
