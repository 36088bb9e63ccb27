// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// This file refuses quantized weights that are not simulated. For the others, it warns about what the files do
// not specify.

// quantizesNothing reports whether nothing is quantized because the second flag, which names the method, is
// missing.
func (r *Run) quantizesNothing(b *projects.Bound) bool {
	return b.Key.Quantizer != nil && b.Key.Quantizer.NeedsMethod && len(r.BindingsOf("quant_method")) == 0
}

// unquantizable returns why quantized weights are not simulated, or "" if they are.
func (r *Run) unquantizable(b *projects.Bound) string {
	switch {
	case r.Trainer().QuantizesItself != "":
		return r.Trainer().QuantizesItself
	case b.Value != systems.FourBit && b.Value != systems.EightBit && b.Value != systems.ByGPTQ:
		return "quantizes weights in a way that is not simulated yet"
	case slices.ContainsFunc(r.BindingsOf("quant_method"), func(b projects.Bound) bool { return b.Value == systems.OtherLibrary }):
		return "quantizes weights with a library other than bitsandbytes, which is not simulated"
	case r.deepspeed() && r.World() > 1:
		return "quantizes weights, which is not simulated under DeepSpeed; use only one of the two"
	}
	return ""
}

// refusedQuantization returns the refusal of weights that are quantized in a way that is not simulated.
func (r *Run) refusedQuantization() []Missing {
	b := r.quantizing()
	if b == nil || r.unquantizable(b) == "" {
		return nil
	}
	return []Missing{{Weights, fmt.Sprintf("%s: %s %s; measure it: snug profile -- <your command>", b.Where(), b.Path, r.unquantizable(b))}}
}

// quantizationWarnings lists what files do not specify about quantized weights, because the user's program
// decides it.
func (r *Run) quantizationWarnings(run map[string]any) []string {
	b, in := r.quantizing(), run["quantization"]
	if b != nil && r.quantizesNothing(b) && in == nil {
		return []string{fmt.Sprintf("%s: %s has no effect without --quant_method bnb, so no weights are counted as quantized", b.Where(), b.Path)}
	}
	if b == nil || in == nil || r.unquantizable(b) != "" || r.setInSnugFile("quantization.bits") {
		return nil
	}
	if older := r.olderTRL(); older != "" {
		return []string{older}
	}
	own := r.Trainer().OwnProgram || r.Trainer().LoadedByScript
	switch {
	case own && !r.inCode() && b.Key.Quantizer == nil && r.preparing() == nil:
		return []string{fmt.Sprintf("%s: %s quantizes weights; no file shows whether the program casts the rest to float32 (prepare_model_for_kbit_training); it is counted in the type it is loaded in, or in float32 with --prepare-kbit", b.Where(), b.Path)}
	case r.inCode() && !r.prepares() && !r.Trainer().PreparesQuantized && r.Trainer().QuantizedAdapters == "":
		return []string{fmt.Sprintf("%s: %s quantizes weights; the rest is counted in the type it is loaded in, since prepare_model_for_kbit_training is not called here", b.Where(), b.Path)}
	}
	return nil
}

// olderTRL returns the note that the installed TRL treats quantized weights differently: before 0.26 it
// cast them to float32 with PEFT's function, and with bf16 cast embeddings and head back (models/utils.py:
// prepare_peft_model).
func (r *Run) olderTRL() string {
	var minor int
	if n, _ := fmt.Sscanf(r.trl, "0.%d", &minor); !r.Trainer().UsesTRL || n != 1 || minor >= 26 {
		return ""
	}
	return fmt.Sprintf("the installed TRL %s keeps norms and adapters in float32 when weights are quantized; they are counted as in TRL 1.16, so the run needs more memory than shown", r.trl)
}
