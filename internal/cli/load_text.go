// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/units"
)

// loadText returns a paragraph if the peak is reached while loading, because each GPU has the whole model before
// it is sharded. The paragraph states what the steps need and how else to load the model. Otherwise it is "".
func loadText(a *estimate.Answer, card gpu.Card) (string, error) {
	b, err := a.Sharded(card)
	if b == nil || err != nil {
		return "", err
	}
	verdict := ""
	if b.Fits != nil {
		verdict = map[bool]string{true: ", and fits", false: ", and does not fit either"}[*b.Fits]
	}
	return fmt.Sprintf("The peak is reached while loading: each GPU holds the whole model, %v, before it is sharded; the steps need at most %v for tensors. "+
		"If it is loaded sharded, it takes %v%s: %s. Then add --dist-load sharded.",
		units.Bytes(a.Phases.Load), units.Bytes(a.Phases.Steps()), held(b), verdict, setup.HowToShard(a.Setup.Dist.Kind)), nil
}
