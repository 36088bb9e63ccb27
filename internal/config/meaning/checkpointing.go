// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/projects"
)

// Checkpointing has two switches under accelerate's FSDP: the trainer's own, and
// activation_checkpointing in accelerate's file or in the Trainer's fsdp_config. It is on if either of them is on. If both
// are on, transformers' Trainer refuses to start (5.22, trainer.py: create_accelerator_and_postprocess).

// CheckpointingKeys returns the keys for checkpointing: the sharding's, which have no effect without FSDP, and all
// others.
func (r *Run) CheckpointingKeys() (sharded, own []projects.Bound) {
	for _, b := range r.BindingsOf("checkpointing") {
		switch {
		case !b.Key.OfSharding:
			own = append(own, b)
		case r.usesFSDP():
			sharded = append(sharded, b)
		}
	}
	return sharded, own
}

// leavesToTrainer reports whether a key leaves the decision to the trainer, as accelerate's does if it is
// off.
func (r *Run) leavesToTrainer(b projects.Bound) bool {
	return b.Setting == "checkpointing" && b.Key.OfSharding && (b.Value != true || !r.usesFSDP())
}

// usesFSDP reports whether the files shard the run with FSDP, on any number of GPUs.
func (r *Run) usesFSDP() bool {
	kind, _ := r.Value("dist.kind").(string)
	return strings.HasPrefix(kind, "fsdp")
}

// AnyOn reports whether any of the keys is on.
func AnyOn(of []projects.Bound) bool {
	return slices.ContainsFunc(of, func(b projects.Bound) bool { return b.Value == true })
}

// TrainerCheckpoints reports whether the trainer's switch is on, in a file or by default.
func (r *Run) TrainerCheckpoints() bool {
	if _, own := r.CheckpointingKeys(); len(own) > 0 {
		return firstValue(own) == true
	}
	return r.trainerDefault("checkpointing") == true
}

// firstValue returns the value of the first key that has one.
func firstValue(of []projects.Bound) (v any) {
	for _, b := range of {
		v = firstNonNil(v, b.Value)
	}
	return v
}

// checkpointedTwice returns the error that both switches are on, which transformers' Trainer refuses.
func (r *Run) checkpointedTwice() []string {
	sharded, own := r.CheckpointingKeys()
	system := r.Trainer()
	if !AnyOn(sharded) || !r.TrainerCheckpoints() || !system.RefusesTwoSwitches {
		return nil
	}
	also := fmt.Sprintf("gradient_checkpointing, which is on by default in %s", system.Title)
	if len(own) > 0 {
		also = fmt.Sprintf("%s at %s", own[0].Path, own[0].Where())
	}
	return []string{fmt.Sprintf("%s: %s is on, and so is %s; the trainer refuses to start with both, so turn one off", sharded[0].Where(), sharded[0].Path, also)}
}

// settleReentrant fills in the kind of checkpointing if no key sets it. FSDP's own checkpointing is never
// reentrant (accelerate 1.15, accelerator.py: checkpoint_wrapper).
func (r *Run) settleReentrant(out map[string]any) {
	if sharded, _ := r.CheckpointingKeys(); AnyOn(sharded) {
		out["use_reentrant"] = false
		return
	}
	rule := r.Trainer().Reentrant
	if out["use_reentrant"] != nil || rule == nil {
		return
	}
	dist, _ := out["dist"].(map[string]any)
	out["use_reentrant"] = (rule.Except == "" || dist["kind"] != rule.Except) && (rule.Answers || r.answersLoop() == "")
}
