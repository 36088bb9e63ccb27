// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"strings"

	"snug/internal/setup"
)

// What weights are loaded in is another matter than autocast: weights of bfloat16
// under autocast to bfloat16 are what most people run, since transformers 5 loads a
// model as it is saved. What trains is then of 16 bits as well, gradients and
// optimizer states with it, unless the trainer casts it.

// ValueOrDefault is what files say of a setting, or else the system by itself.
func (p *Run) ValueOrDefault(setting string) any {
	if v := p.Value(setting); v != nil {
		return v
	}
	return p.DefaultValue(setting)
}

// IsUnused is a setting that says nothing: flags of a program that nobody knows may be
// called like those that load a model.
func (p *Run) IsUnused(setting string) bool {
	return setting == "weights" && p.Trainer().Commands != nil && !p.adapts()
}

// settleWeights brings the type of the weights and the precision together, for a run with
// adapters or without: a setup has both, and a type of its own without autocast is
// the precision.
func (p *Run) settleWeights(out map[string]any, adapts bool) {
	precision, _ := out["precision"].(string)
	held := p.heldIn(out)
	delete(out, "weights")
	typed := held != "" && (adapts || p.Trainer().LoadsTyped && (p.Primary == nil || !p.Primary.System.TypeIsPrecision))
	if on, _ := p.ValueOrDefault("autocast").(string); on != "" && (typed || precision == "fp32") {
		precision = on // a key that names the type of the weights was read as the precision
	}
	held, precision = p.weightsInTraining(held, precision, adapts)
	delete(out, "precision")
	if precision != "" {
		out["precision"] = precision
	}
	if held != "" {
		out["weights"] = held
	}
}

// heldIn is what the files and the system say of the weights, "" for float32.
func (p *Run) heldIn(out map[string]any) string {
	held, _ := out["weights"].(string)
	inScript := p.scriptType()
	held = cmp.Or(inScript, held)
	before5 := p.Trainer().SavedSince5 && strings.HasPrefix(p.transformers, "4.") && p.Value("weights") == nil && inScript == ""
	single := p.Own != nil && p.Own.Set["precision"] == "fp32"
	if held == "fp32" || before5 || single || p.IsUnused("weights") {
		return ""
	}
	return held
}

// weightsInTraining is what becomes of weights that were loaded so. DeepSpeed casts all of
// them to its 16 bits and keeps copies of what it trains in float32 (deepspeed 0.19,
// runtime/engine.py). What is trained accelerate casts to float32 under FSDP and
// autocast (accelerate 1.15, utils/fsdp_utils.py: fsdp2_prepare_model), and
// LLaMA-Factory always (llamafactory 0.9.5, model/adapter.py: init_adapter).
func (p *Run) weightsInTraining(held, precision string, adapts bool) (weights, arithmetic string) {
	cast, autocast := strings.CutPrefix(precision, "amp-")
	kind, _ := p.Value("dist.kind").(string)
	switch {
	case p.deepspeed() && adapts:
		return "", cast
	case p.deepspeed() && autocast && p.World() > 1:
		return cast, precision
	case p.deepspeed(), !adapts && (p.Trainer().CastsTrained || autocast && strings.HasPrefix(kind, "fsdp2")):
		return "", precision
	case autocast, held == "":
		return held, precision
	case held == setup.Saved && (precision == "" || precision == "fp32"):
		return held, "" // no autocast: as it is saved it trains
	case precision == "" || precision == "fp32":
		return held, held
	case held == precision:
		return held, precision
	}
	return "", precision
}

// deepspeed tells whether DeepSpeed holds the weights.
func (p *Run) deepspeed() bool {
	kind, _ := p.Value("dist.kind").(string)
	return (&setup.Dist{Kind: kind}).DeepSpeed()
}
