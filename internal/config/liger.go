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

const (
	ligerPatches = "liger-kernel 0.8.5, transformers/monkey_patch.py"
	axolotlLiger = "axolotl 0.19, integrations/liger/args.py and plugin.py"

	overLogits = "writes the gradients over the logits"
)

// ligerKeys are TrainingArguments' switch and what its kernels may be told.
func ligerKeys(source string) []Key {
	source += ": liger_kernel_config; " + ligerPatches
	return []Key{
		{Setting: "liger", Path: "use_liger_kernel", Kind: Switch, Default: "false", Source: hfArgs},
		{Setting: "liger.rope", Path: "liger_kernel_config.rope", Kind: Switch, Source: source},
		{Setting: "liger.norm", Path: "liger_kernel_config.rms_norm", Kind: Switch, Source: source},
		{Setting: "liger.mlp", Path: "liger_kernel_config.swiglu", Kind: Switch, Source: source},
		{Setting: "liger.mlp", Path: "liger_kernel_config.geglu", Kind: Switch, Source: source},
		{Setting: "liger.loss", Path: "liger_kernel_config.fused_linear_cross_entropy", Kind: Switch, Source: source},
		less("liger_kernel_config.cross_entropy", overLogits, source),
	}
}

// axolotlLigerKeys are those of Axolotl's plugin.
func axolotlLigerKeys() []Key {
	return []Key{
		{Setting: "plugins", Path: "plugins", Kind: Names, Source: axolotlLiger},
		{Setting: "liger.rope", Path: "liger_rope", Kind: Switch, Source: axolotlLiger},
		{Setting: "liger.norm", Path: "liger_rms_norm", Kind: Switch, Source: axolotlLiger},
		{Setting: "liger.mlp", Path: "liger_glu_activation", Kind: Switch, Source: axolotlLiger},
		{Setting: "liger.mlp", Path: "liger_swiglu", Kind: Switch, Source: axolotlLiger + " (deprecated)"},
		{Setting: "liger.loss", Path: "liger_fused_linear_cross_entropy", Kind: Switch, Source: axolotlLiger},
		less("liger_cross_entropy", overLogits, axolotlLiger),
	}
}

// liger says which layers are Liger's, and whether the loss is.
func (p *Project) liger(out map[string]any) {
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
func (p *Project) ligerHas(part string) bool {
	on, said := p.Value("liger." + part).(bool)
	return on || !said && !p.system().LigerByKernel
}

// plugged tells whether one of Axolotl's plugins is called so.
func (p *Project) plugged(name string) bool {
	names, _ := p.Value("plugins").([]string)
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), name) })
}

// says tells whether snug.yaml itself gives a setting.
func (p *Project) says(setting string) bool {
	return p.own != nil && p.own.Set[setting] != nil
}

// trlComputes tells whether the loss is TRL's whatever Liger could do: from 1.15 on
// it turns Liger's off (trainer/sft_trainer.py).
func (p *Project) trlComputes() bool { return p.system().UsesTRL && p.trlMinor() >= 15 }

// ligerInCode tells whether the project's main file is a script that patches a model,
// or loads a patched one.
func (p *Project) ligerInCode() bool {
	return p.main != nil && p.main.adapter.ByName && patches.In(p.main.tree.layers[0].doc.Text())
}

var patches = pattern.New(`(?m)^[^#\n]*\b(?:AutoLigerKernelForCausalLM\.|apply_liger_kernel_to_\w+\(\s*\))`,
	"AutoLigerKernelForCausalLM.", "apply_liger_kernel_to_")
