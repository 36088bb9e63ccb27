// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"

	"snug/internal/setup"
)

// gradientNotes says that FSDP holds more gradients than one might think: of frozen weights, or whole ones
// between micro-batches; and that a model is not LitGPT's own.
func gradientNotes(s *setup.Setup, name func(field string) string) (out []string) {
	if s.Loop == setup.LitGPTLoop && !s.HasLitGPTsModel() {
		out = append(out, "LitGPT's own model and loss are not simulated for this run: they are counted as transformers', which was off by up to a sixth in measured runs")
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

// unnamed says why a run is taken for LitGPT's if no loop is named.
func unnamed(s *setup.Setup, name func(field string) string) string {
	if !s.LoopAssumed {
		return ""
	}
	return fmt.Sprintf("; without %s and %s, adapters are taken for LitGPT's; in separate FSDP units they take far less", name("lora-peft"), name("loop"))
}
