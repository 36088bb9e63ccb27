// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"snug/internal/pattern"
	"snug/internal/setup"
)

// Which of Liger's kernels a run uses. Trainers have one switch for all that it has
// for a model, and some a switch for each; Axolotl turns on what a file names.

// liger says which layers are Liger's, and whether the loss is.
func (p *Run) liger(out map[string]any) {
	on := out["liger"] == true || p.plugged("liger") || p.ligerInCode()
	if p.says("liger") {
		return // in a setup's own words
	}
	delete(out, "liger")
	if !on {
		return
	}
	var parts []any
	for _, part := range setup.LigerParts {
		if p.ligerHas(part) {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		out["liger"] = parts
	}
	if p.ligerHas("loss") && !p.says("loss") && !p.trlComputes() {
		out["loss"] = setup.LigerLoss
	}
}

// ligerHas tells whether one kind of kernel is on where Liger is.
func (p *Run) ligerHas(part string) bool {
	on, said := p.Value("liger." + part).(bool)
	return on || !said && !p.system().LigerByKernel
}

// plugged tells whether one of Axolotl's plugins is called so.
func (p *Run) plugged(name string) bool {
	names, _ := p.Value("plugins").([]string)
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), name) })
}

// says tells whether snug.yaml itself gives a setting.
func (p *Run) says(setting string) bool {
	return p.own != nil && p.own.Set[setting] != nil
}

// trlComputes tells whether the loss is TRL's whatever Liger could do: from 1.15 on
// it turns Liger's off (trainer/sft_trainer.py).
func (p *Run) trlComputes() bool { return p.system().UsesTRL && p.trlMinor() >= 15 }

// ligerInCode tells whether the project's main file is a script that patches a model,
// or loads a patched one.
func (p *Run) ligerInCode() bool {
	return p.main != nil && p.main.adapter.ByName && patches.In(p.main.tree.layers[0].doc.Text())
}

var patches = pattern.New(`(?m)^[^#\n]*\b(?:AutoLigerKernelForCausalLM\.|apply_liger_kernel_to_\w+\(\s*\))`,
	"AutoLigerKernelForCausalLM.", "apply_liger_kernel_to_")
