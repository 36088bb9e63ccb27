// SPDX-License-Identifier: Apache-2.0

package config

// An optimizer's name is a system's own: what one calls adamw_torch_fused the next
// does not have at all, and a run that is told a name of somebody else's does not
// start. So each table lists its own words, and everything else is only read.

// anyOptimizer is names that optimizers are known by somewhere.
var anyOptimizer = append(torchClasses[:len(torchClasses):len(torchClasses)],
	word{"AdamW", "adamw"}, word{"Adam", "adam"}, word{"SGD", "sgd"}, word{"adamw", "adamw"}, word{"adam", "adam"}, word{"sgd", "sgd"},
	word{"adamW", "adamw"}, word{"decoupled_adamw", "adamw"}, word{"adafactor", "adafactor"}, word{"Adafactor", "adafactor"},
	word{"lion", "lion"}, word{"Lion", "lion"}, word{"decoupled_lionw", "lion"}, word{"AdamW8bit", "adamw-8bit"},
	word{"PagedAdamW8bit", "adamw-8bit"}, word{"PagedAdamW32bit", "adamw-fused"}, word{"PagedAdamW", "adamw-fused"},
	word{"bitsandbytes.optim.PagedAdamW32bit", "adamw-fused"}, word{"bitsandbytes.optim.PagedAdamW", "adamw-fused"}, word{"Lion8bit", "lion-8bit"}, word{"AdaFactor", "adafactor"},
	word{"adamw_fused", "adamw-fused"}, word{"adamw-fused", "adamw-fused"},
)

// torchClasses is classes as Python imports them.
var torchClasses = []word{
	{"torch.optim.AdamW", "adamw"}, {"torch.optim.Adam", "adam"}, {"torch.optim.SGD", "sgd"},
	{"bitsandbytes.optim.AdamW8bit", "adamw-8bit"}, {"bitsandbytes.optim.PagedAdamW8bit", "adamw-8bit"},
}

// deepspeedOptimizers is DeepSpeed's own, and classes of torch.optim by their names
// (deepspeed 0.19, runtime/engine.py: _configure_basic_optimizer).
var deepspeedOptimizers = []word{{"AdamW", "adamw"}, {"Adam", "adam"}, {"SGD", "sgd"}, {"Lion", "lion"}}

// kohyaOptimizers is sd-scripts' --optimizer_type (library/train_util.py: get_optimizer).
var kohyaOptimizers = []word{
	{"AdamW", "adamw"}, {"AdamW8bit", "adamw-8bit"}, {"PagedAdamW8bit", "adamw-8bit"},
	{"Lion", "lion"}, {"Lion8bit", "lion-8bit"}, {"AdaFactor", "adafactor"}, {"Adafactor", "adafactor"},
}

// foundryOptimizers is llm-foundry's registry.
var foundryOptimizers = []word{{"decoupled_adamw", "adamw"}, {"decoupled_lionw", "lion"}}

const torchFused = "torch 2.9, optim/adamw.py"

// fusedSwitch is the argument of torch.optim's classes that picks the fused kernel.
func fusedSwitch(path, source string) *Key {
	return &Key{Setting: "optimizer.kernel", Path: path, Kind: Switch, Means: "fused", Source: source}
}

// titanKernel is torchtitan's word for the same.
var titanKernel = Key{
	Setting: "optimizer.kernel", Path: "implementation", Kind: Word, Default: "fused", Source: torchtitanJob,
	Words: []word{{"fused", "fused"}, {"foreach", "foreach"}, {"for-loop", "loop"}},
}
