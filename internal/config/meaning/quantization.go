// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// 4-bit weights of bitsandbytes. Files turn them on with one key. Trainers differ in what they do about
// the rest: the type of products, whether what is not quantized is cast to float32, and the type of
// adapters.

// quantizing returns the key that quantizes weights, nil if none does.
func (r *Run) quantizing() *projects.Bound {
	for _, b := range r.BindingsOf("quantized") {
		if v, _ := b.Value.(string); v != "" {
			return &b
		}
	}
	return r.quantizesByDefault()
}

// quantizesByDefault returns the key that quantizes weights unless a file has it, nil if there is none.
func (r *Run) quantizesByDefault() *projects.Bound {
	if r.Primary == nil || len(r.BindingsOf("quantized")) > 0 {
		return nil
	}
	for _, k := range r.Trainer().ForSetting("quantized") {
		if v, _ := projects.Default(k, 1).(string); v != "" {
			name := strings.TrimPrefix(k.Path, "**.")
			return &projects.Bound{Key: k, Source: r.Primary, Binding: projects.Binding{Setting: k.Setting, File: r.Primary.File, Line: 1, Path: doc.Path{name}, Value: v}}
		}
	}
	return nil
}

// QuantizedAt returns the file:line of the key that quantizes weights, "" if none does.
func (r *Run) QuantizedAt() string {
	if b := r.quantizing(); b != nil && !r.setInSnugFile("quantization.bits") {
		return b.Where()
	}
	return ""
}

// settleQuantization fills in how weights are quantized, if they are.
func (r *Run) settleQuantization(out map[string]any) {
	in, _ := out["quantization"].(map[string]any)
	b := r.quantizing()
	if r.setInSnugFile("quantization.bits") && in != nil {
		return // in a setup's own words
	}
	delete(out, "quantization")
	if b == nil || r.unquantizable(b) != "" || r.quantizesNothing(b) {
		return
	}
	if in == nil {
		in = map[string]any{}
	}
	in["bits"] = 4.0
	if by := b.Key.Quantizer; by != nil && by.Type != "" {
		in["type"], in["double"] = firstNonNil(in["type"], by.Type), firstNonNil(in["double"], by.Double)
	}
	if in["type"] == nil {
		in["type"] = systems.BitsAndBytesType
	}
	if in["compute"] == nil {
		in["compute"] = cmp.Or(r.computesIn(b, out), systems.BitsAndBytesCompute)
	}
	put(in, "adapters", r.Trainer().QuantizedAdapters)
	if by := b.Key.Quantizer; r.prepares() || by != nil && by.Prepares {
		in["prepare"] = true
	}
	if t := r.Trainer(); t.PreparesQuantized && !(t.UncastIfSharded && r.shardsWeights()) {
		in["prepare"] = true
		if t.CastsBack {
			in["cast_back"] = true
		}
	}
	out["quantization"] = in
	put(out, "versions.bitsandbytes", installed(r.Files(), bnbInfo))
	r.settleQuantized(out)
	if lora, _ := out["lora"].(map[string]any); lora != nil {
		lora["peft"] = true // only PEFT has adapters on quantized weights
	}
}

// settleQuantized fills in what quantizing implies: from_pretrained quantizes, and loads a model as it
// was saved; PEFT's function that casts the rest to float32 turns checkpointing on as well.
func (r *Run) settleQuantized(out map[string]any) {
	precision, _ := out["precision"].(string)
	if r.Trainer().OwnProgram && out["weights"] == nil && (precision == "" || strings.HasPrefix(precision, "amp-")) && !strings.HasPrefix(r.transformers, "4.") {
		out["weights"] = setup.Saved
	}
	if r.checkpointsInCode() {
		out["checkpointing"] = true
	}
}

// computesIn returns the type of products if no key sets it, "" for bitsandbytes' own.
// TRL takes the type that it loads weights in, Axolotl and LLaMA-Factory that of their
// arithmetic, ms-swift bfloat16 unless weights are loaded in something else.
func (r *Run) computesIn(b *projects.Bound, out map[string]any) string {
	precision, _ := out["precision"].(string)
	weights, _ := out["weights"].(string)
	held := weights
	if !strings.HasPrefix(precision, "amp-") {
		held = cmp.Or(weights, precision)
	}
	arithmetic := strings.TrimPrefix(precision, "amp-")
	rule := r.Trainer().Computes
	if by := b.Key.Quantizer; by != nil {
		rule = cmp.Or(rule, by.Computes)
	}
	switch {
	case r.inCode() && !r.Primary.System.KnownProgram:
		return r.computeInCode()
	case rule == systems.ComputesAsHeld:
		return computeType(held)
	case rule == systems.ComputesAsArithmetic:
		return cmp.Or(computeType(arithmetic), "bf16")
	case rule == systems.ComputesUnlessLoaded && (held == "fp16" || held == "fp32"):
		return "fp32"
	case rule == systems.ComputesUnlessLoaded:
		return "bf16"
	}
	return ""
}

// computeType returns dtype if products can have it; "" otherwise, as for the saved type.
func computeType(dtype string) string {
	if slices.Contains(setup.ComputeTypes, dtype) {
		return dtype
	}
	return ""
}
