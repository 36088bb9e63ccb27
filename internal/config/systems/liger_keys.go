// SPDX-License-Identifier: Apache-2.0

package systems

const (
	ligerPatches = "liger-kernel 0.8.5, transformers/monkey_patch.py"
	axolotlLiger = "axolotl 0.19, integrations/liger/args.py and plugin.py"

	overLogits = "overwrites the logits with their gradients"
)

// ligerKeys returns TrainingArguments' switch and the options of its kernels.
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

// axolotlLigerKeys returns the keys of Axolotl's plugin.
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
