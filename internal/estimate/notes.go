// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"
	"strings"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// Notes is what has to be said about a run on a card beside its figures: that
// the card cannot do in hardware what the setup asks for, and what to use.
func Notes(s *setup.Setup, card gpu.Card) []string {
	if !card.LacksBF16() {
		return nil
	}
	instead := ""
	switch d := s.Dist; {
	case s.Precision == "amp-bf16", s.Precision == "bf16":
		instead = "precision amp-fp16, with a gradient scaler"
	case d != nil && strings.Contains(d.ParamDType+d.ReduceDType, "bf16"):
		instead = "fp16 or fp32 for FSDP2's param_dtype and reduce_dtype"
	default:
		return nil
	}
	return []string{fmt.Sprintf("%s has no bf16 hardware and imitates it, slower than any time given here; use %s", card.Name, instead)}
}
