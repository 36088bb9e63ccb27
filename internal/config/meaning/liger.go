// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"

	"snug/internal/pattern"
	"snug/internal/setup"
)

// Which of Liger's kernels a run uses. Trainers have one switch for all kernels of a model, and some have
// one for each; Axolotl turns on what a file names.

// settleLiger fills in which layers are Liger's, and whether the loss is.
func (r *Run) settleLiger(out map[string]any) {
	on := out["liger"] == true || r.plugged("liger") || r.ligerInCode()
	if r.setInSnugFile("liger") {
		return // in a setup's own words
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

// plugged reports whether one of Axolotl's plugins has this name.
func (r *Run) plugged(name string) bool {
	names, _ := r.Value("plugins").([]string)
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), name) })
}

// setInSnugFile reports whether snug.yaml itself gives a setting.
func (r *Run) setInSnugFile(setting string) bool {
	return r.Own != nil && r.Own.Set[setting] != nil
}

// trlComputes reports whether the loss is TRL's even if Liger has one: from 1.15 on TRL turns Liger's off
// (trainer/sft_trainer.py).
func (r *Run) trlComputes() bool { return r.Trainer().UsesTRL && r.trlMinor() >= 15 }

// ligerInCode reports whether the project's main file is a script that patches a model,
// or loads a patched one.
func (r *Run) ligerInCode() bool {
	return r.Primary != nil && r.Primary.System.ByName && patchesLiger.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var patchesLiger = pattern.New(`(?m)^[^#\n]*\b(?:AutoLigerKernelForCausalLM\.|apply_liger_kernel_to_\w+\(\s*\))`,
	"AutoLigerKernelForCausalLM.", "apply_liger_kernel_to_")
