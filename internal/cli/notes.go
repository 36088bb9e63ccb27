// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// asides are notes on standard error, beside an answer that stands. Each is said
// once, however many setups it is about.
type asides map[string]bool

// about says what there is to say of a run on a card.
func (a asides) about(env Env, s *setup.Setup, card gpu.Card) {
	for _, text := range estimate.Notes(s, card) {
		if !a[text] {
			a[text] = true
			fmt.Fprintf(env.Stderr, "snug: note: %s\n", text)
		}
	}
}
