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

// This file handles bitsandbytes' quantized weights. Configs turn them on with one key. Trainers differ in everything
// else: the compute type of matrix products, whether weights that are not quantized are cast to float32, and the
// type of adapters.

// quantizing returns the key that quantizes weights, or nil if there is none.
func (r *Run) quantizing() *projects.Bound {
	for _, b := range r.BindingsOf("quantized") {
		if v, _ := b.Value.(string); v != "" {
			return &b
		}
	}
	return r.quantizesByDefault()
}

// quantizesByDefault returns the key that quantizes weights by default if no file sets it; nil if there is
// none.
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

// QuantizedAt returns file:line of the key that quantizes weights, or "" if there is none.
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
		return // already in a setup's terms
	}
	delete(out, "quantization")
	if b == nil || r.unquantizable(b) != "" || r.quantizesNothing(b) {
		return
	}
	if in == nil {
		in = map[string]any{}
	}
	switch b.Value {
	case systems.ByGPTQ:
		r.settleGPTQ(out)
		return
	case systems.EightBit:
		in = map[string]any{"bits": float64(setup.EightBits)}
	default:
		r.settleFourBits(b, in, out)
	}
	casts := !r.Trainer().CastsIfBF16 || out["precision"] == setup.AmpBF16
	if casts {
		put(in, "adapters", r.Trainer().QuantizedAdapters)
	}
	if by := b.Key.Quantizer; r.prepares() || by != nil && by.Prepares {
		in["prepare"] = true
	}
	if t := r.Trainer(); t.PreparesQuantized && !(t.UncastIfSharded && r.shardsWeights()) {
		in["prepare"] = true
		if t.CastsBack && casts {
			in["cast_back"] = true
		}
	}
	out["quantization"] = in
	put(out, "versions.bitsandbytes", installed(r.Files(), bnbInfo))
	r.settleQuantized(out)
	if lora, _ := out["lora"].(map[string]any); lora != nil {
		lora["peft"] = true // only PEFT supports adapters on quantized weights
	}
}

// settleGPTQ fills in weights that GPTQ quantized. The model's files say how many bits they have, and the trainer casts
// nothing (PEFT's prepare_model_for_kbit_training leaves such models as they are).
func (r *Run) settleGPTQ(out map[string]any) {
	out["quantization"] = map[string]any{"bits": 4.0, "method": setup.GPTQ}
	if lora, _ := out["lora"].(map[string]any); lora != nil {
		lora["peft"] = true
	}
}

// settleFourBits fills in the types of 4-bit weights; 8-bit ones have none.
func (r *Run) settleFourBits(b *projects.Bound, in, out map[string]any) {
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
}

// settleQuantized fills in what quantizing implies: from_pretrained quantizes and loads a model in its saved
// type; PEFT's function that casts the other weights to float32 also turns checkpointing on.
func (r *Run) settleQuantized(out map[string]any) {
	precision, _ := out["precision"].(string)
	if r.Trainer().OwnProgram && out["weights"] == nil && (precision == "" || strings.HasPrefix(precision, "amp-")) && !strings.HasPrefix(r.transformers, "4.") {
		out["weights"] = setup.Saved
	}
	if r.checkpointsInCode() {
		if out["checkpointing"] != true && out["use_reentrant"] == nil { // PEFT leaves the kind to PyTorch's default
			out["use_reentrant"] = !preparesNonReentrant.In(r.Primary.Tree.Layers[0].Doc.Text())
		}
		out["checkpointing"] = true
	}
}

// computesIn returns the compute type if no key sets it, or "" for bitsandbytes' default. TRL uses the type
// that it loads weights in, Axolotl and LLaMA-Factory their precision, and ms-swift bfloat16 unless weights
// are loaded in another type.
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

// computeType returns dtype if it can be a compute type; "" otherwise, as for the saved type.
func computeType(dtype string) string {
	if slices.Contains(setup.ComputeTypes, dtype) {
		return dtype
	}
	return ""
}
