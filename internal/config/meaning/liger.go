// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"

	"snug/internal/pattern"
	"snug/internal/setup"
)

// This file determines which of Liger's kernels a run uses. Trainers have one switch for all kernels of a
// model, and some have one for each; Axolotl turns on the kernels that a file names.

// settleLiger fills in which layers use Liger's kernels, and whether the loss does.
func (r *Run) settleLiger(out map[string]any) {
	on := out["liger"] == true || r.plugged("liger") || r.ligerInCode()
	if r.setInSnugFile("liger") {
		return // already in a setup's terms
	}
	delete(out, "liger")
	if !on {
		return
	}
	var parts []any
	for _, part := range setup.LigerParts {
		if r.ligerHas(part) {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		out["liger"] = parts
	}
	if r.ligerHas("loss") && !r.setInSnugFile("loss") && !r.trlComputes() {
		out["loss"] = setup.LigerLoss
	}
}

// ligerHas reports whether one kind of kernel is on, if Liger is.
func (r *Run) ligerHas(part string) bool {
	on, isSet := r.Value("liger." + part).(bool)
	return on || !isSet && !r.Trainer().LigerByKernel
}

// plugged reports whether the run uses an Axolotl plugin of this name.
func (r *Run) plugged(name string) bool {
	names, _ := r.Value("plugins").([]string)
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), name) })
}

// setInSnugFile reports whether snug.yaml itself contains a setting.
func (r *Run) setInSnugFile(setting string) bool {
	return r.Own != nil && r.Own.Set[setting] != nil
}

// trlComputes reports whether TRL computes the loss even if Liger is on: since 1.15 TRL turns Liger's loss
// off (trainer/sft_trainer.py).
func (r *Run) trlComputes() bool { return r.Trainer().UsesTRL && r.trlMinor() >= 15 }

// ligerInCode reports whether the project's main file is a script that patches a model,
// or loads a patched one.
func (r *Run) ligerInCode() bool {
	return r.Primary != nil && r.Primary.System.ByName && patchesLiger.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var patchesLiger = pattern.New(`(?m)^[^#\n]*\b(?:AutoLigerKernelForCausalLM\.|apply_liger_kernel_to_\w+\(\s*\))`,
	"AutoLigerKernelForCausalLM.", "apply_liger_kernel_to_")
