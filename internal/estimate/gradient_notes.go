// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"

	"snug/internal/setup"
)

// gradientNotes returns notes if FSDP keeps gradients for frozen weights or unsharded gradients between
// micro-batches, and a note if LitGPT's own model is not simulated.
func gradientNotes(s *setup.Setup, name func(field string) string) (out []string) {
	if s.Loop == setup.LitGPTLoop && !s.HasLitGPTsModel() {
		out = append(out, "LitGPT's own model and loss are not simulated for this run; those of transformers are used instead, and in measured runs the figures were off by up to a sixth")
	}
	if s.MixesUnits() {
		out = append(out, "each block is one FSDP unit, adapters and frozen weights together, as in LitGPT: the frozen weights get gradients too"+unnamed(s, name))
	}
	switch {
	case !s.HoldsGradients():
	case s.Loop == setup.LitGPTLoop:
		out = append(out, fmt.Sprintf("LitGPT reduces gradients only in the last of the %d micro-batches (fabric.no_backward_sync): until then each GPU holds the gradients of whole blocks", s.Accumulation))
	default:
		out = append(out, fmt.Sprintf("accelerate reduces gradients only in the last of the %d micro-batches: until then each GPU holds the gradients of all parameters; sync_each_batch in its gradient_accumulation_kwargs takes less", s.Accumulation))
	}
	return out
}

// unnamed explains why a run is assumed to be LitGPT's if no loop is named.
func unnamed(s *setup.Setup, name func(field string) string) string {
	if !s.LoopAssumed {
		return ""
	}
	return fmt.Sprintf("; without %s and %s, adapters are assumed to be LitGPT's; in separate FSDP units they take far less", name("lora-peft"), name("loop"))
}
