// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"strings"

	"snug/internal/setup"
)

// The type in which weights are loaded is independent of autocast. Most people train bfloat16 weights under
// autocast to bfloat16, because transformers 5 loads a model in its saved type. Then trained weights,
// gradients and optimizer states have 16 bits too, unless the trainer casts them.

// ValueOrDefault returns the value of a setting in the files, or else the system's default.
func (r *Run) ValueOrDefault(setting string) any {
	if v := r.Value(setting); v != nil {
		return v
	}
	return r.DefaultValue(setting)
}

// IsUnused reports whether a setting is ignored: the flags of an unknown program may have the names of flags that
// load a model, but a different meaning.
func (r *Run) IsUnused(setting string) bool {
	return setting == "weights" && r.Trainer().Commands != nil && r.Trainer().OwnProgram && !r.adapts()
}

// settleWeights makes the type of the weights and the precision consistent, with or without adapters. A setup
// has both; without autocast they are the same.
func (r *Run) settleWeights(out map[string]any, adapts bool) {
	precision, _ := out["precision"].(string)
	held := r.heldIn(out)
	delete(out, "weights")
	typed := (held != "" || r.Trainer().AutocastsAsLoaded) && (adapts || r.Trainer().LoadsTyped && (r.Primary == nil || !r.Primary.System.TypeIsPrecision) || r.castsShards())
	if on := r.autocast(held); on != "" && (typed || precision == "fp32") {
		precision = on // a key for the type of the weights was read as the precision
	}
	held, precision = r.weightsInTraining(held, precision, adapts)
	delete(out, "precision")
	if precision != "" {
		out["precision"] = precision
	}
	if held != "" {
		out["weights"] = held
	}
}

// autocast returns the type of autocast that the files or the trainer set separately from the weights, or ""
// for none.
func (r *Run) autocast(held string) string {
	on, _ := r.ValueOrDefault("autocast").(string)
	if on == "" && r.castsShards() {
		on = r.launchedPrecision()
	}
	if on != "" || !r.Trainer().AutocastsAsLoaded || len(r.BindingsOf("autocast")) > 0 {
		return on
	}
	return map[bool]string{true: "amp-bf16", false: "amp-fp16"}[held == "bf16"]
}

// autocastUnsharded turns autocast on if the trainer uses it instead of FSDP's casts.
func (r *Run) autocastUnsharded(out map[string]any) {
	dist, _ := out["dist"].(map[string]any)
	kind, _ := dist["kind"].(string)
	if strings.HasPrefix(kind, "fsdp") || !r.Trainer().AutocastsUnsharded || out["precision"] != "fp32" {
		return
	}
	if cast, _ := r.ValueOrDefault("dist.param_dtype").(string); cast == "bf16" || cast == "fp16" {
		out["precision"] = "amp-" + cast
	}
}

// heldIn returns the type of the weights according to the files and the system; "" for float32.
func (r *Run) heldIn(out map[string]any) string {
	held, _ := out["weights"].(string)
	inScript := r.scriptType()
	held = cmp.Or(inScript, held)
	before5 := r.Trainer().SavedSince5 && strings.HasPrefix(r.transformers, "4.") && r.Value("weights") == nil && inScript == ""
	single := r.Own != nil && r.Own.Set["precision"] == "fp32"
	if name, _ := r.Value("model").(string); held == setup.Saved && r.Trainer().AutocastsAsLoaded {
		held = cmp.Or(setup.SavedAs(r.ModelName(name)), "bf16")
	}
	if held == "fp32" || before5 || single || r.IsUnused("weights") {
		return ""
	}
	return held
}

// weightsInTraining returns the types of weights and arithmetic once weights are loaded. DeepSpeed casts all
// weights to its 16-bit type and keeps float32 copies of the trained ones (deepspeed 0.19, runtime/engine.py).
// LLaMA-Factory always casts trained weights to float32 (llamafactory 0.9.5, model/adapter.py: init_adapter); accelerate
// does so under FSDP and autocast (accelerate 1.15, utils/fsdp_utils.py: fsdp2_prepare_model), except for TRL's reference models.
func (r *Run) weightsInTraining(held, precision string, adapts bool) (weights, arithmetic string) {
	cast, autocast := strings.CutPrefix(precision, "amp-")
	kind, _ := r.Value("dist.kind").(string)
	switch {
	case (r.deepspeed() || r.Trainer().AlwaysDeepSpeed) && adapts:
		return "", cast
	case r.deepspeed() && autocast && r.World() > 1:
		return cast, precision
	case r.deepspeed(), !adapts && (r.Trainer().CastsTrained && r.Value("uncast") != true || autocast && strings.HasPrefix(kind, "fsdp") && r.answersLoop() == ""):
		return "", precision
	case autocast, held == "":
		return held, precision
	case held == setup.Saved && (precision == "" || precision == "fp32"):
		return held, "" // no autocast: the model trains in its saved type
	case precision == "" || precision == "fp32":
		return held, held
	case held == precision:
		return held, precision
	}
	return "", precision
}

// castsShards reports whether accelerate shards the weights with FSDP. Under autocast it casts them to float32, so a
// type of the weights does not replace autocast, as it does for TRL on one GPU.
func (r *Run) castsShards() bool {
	return r.World() > 1 && r.usesFSDP() && r.gathersInAutocast()
}

// launchedPrecision returns the autocast that accelerate's launcher or its file sets; "" for none.
func (r *Run) launchedPrecision() string {
	for _, b := range r.BindingsOf("precision") {
		if on, _ := b.Value.(string); (b.Key.OfLauncher || b.Source.System.Launcher) && strings.HasPrefix(on, "amp-") {
			return on
		}
	}
	return ""
}

// deepspeed reports whether DeepSpeed manages the weights.
func (r *Run) deepspeed() bool {
	kind, _ := r.Value("dist.kind").(string)
	return (&setup.Dist{Kind: kind}).DeepSpeed()
}
