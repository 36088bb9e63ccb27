// SPDX-License-Identifier: Apache-2.0

package cost

import "snug/internal/gpu"

// RatesOf returns the speed of a card of the catalogue, and false if it is not known. The figures
// themselves are in gpu/catalogue_*.go. Links between GPUs have no rate: transfers are not modelled.
func RatesOf(c gpu.Card) (Rates, bool) {
	r := Rates{
		Bandwidth: c.Bandwidth,
		Half:      max(c.Rates.FP16, c.Rates.BF16),
		TF32:      c.Rates.TF32,
		Single:    c.Rates.FP32,
		SMs:       c.SMs,
	}
	if r.TF32 == 0 { // no such units: convolutions run as they are
		r.TF32 = r.Single
	}
	if r.Half == 0 {
		r.Half = r.Single
	}
	return r, r.Bandwidth > 0 && r.Single > 0 && r.SMs > 0
}
