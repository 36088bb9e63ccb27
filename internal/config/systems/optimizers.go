// SPDX-License-Identifier: Apache-2.0

package systems

import "slices"

// Each system has its own names for optimizers: adamw_torch_fused exists in one but not in another, and a run that
// uses another system's name does not start. So each table lists the names that its system accepts; other names are
// understood but never written. transformers' names are hfOptimizers in vocabularies.go.

// anyOptimizer are the optimizer names of all systems, because a user's own program may accept any of them.
var anyOptimizer = append(slices.Concat(torchClasses, hfOptimizers),
	Term{"AdamW", "adamw"}, Term{"Adam", "adam"}, Term{"SGD", "sgd"}, Term{"adamw", "adamw"}, Term{"adam", "adam"}, Term{"sgd", "sgd"},
	Term{"adamW", "adamw"}, Term{"decoupled_adamw", "adamw"}, Term{"adafactor", "adafactor"}, Term{"Adafactor", "adafactor"},
	Term{"lion", "lion"}, Term{"Lion", "lion"}, Term{"decoupled_lionw", "lion"}, Term{"AdamW8bit", "adamw-8bit"},
	Term{"PagedAdamW8bit", "adamw-8bit"}, Term{"PagedAdamW32bit", "adamw-fused"}, Term{"PagedAdamW", "adamw-fused"},
	Term{"bitsandbytes.optim.PagedAdamW32bit", "adamw-fused"}, Term{"bitsandbytes.optim.PagedAdamW", "adamw-fused"}, Term{"Lion8bit", "lion-8bit"}, Term{"AdaFactor", "adafactor"},
	Term{"adamw_fused", "adamw-fused"}, Term{"adamw-fused", "adamw-fused"},
)

// torchClasses are optimizer classes by their full Python names.
var torchClasses = []Term{
	{"torch.optim.AdamW", "adamw"}, {"torch.optim.Adam", "adam"}, {"torch.optim.SGD", "sgd"},
	{"bitsandbytes.optim.AdamW8bit", "adamw-8bit"}, {"bitsandbytes.optim.PagedAdamW8bit", "adamw-8bit"},
}

// deepspeedOptimizers are the names of DeepSpeed's own optimizers and of torch.optim's classes (deepspeed 0.19,
// runtime/engine.py: _configure_basic_optimizer).
var deepspeedOptimizers = []Term{{"AdamW", "adamw"}, {"Adam", "adam"}, {"SGD", "sgd"}, {"Lion", "lion"}}

// kohyaOptimizers are the values of sd-scripts' --optimizer_type (library/train_util.py: get_optimizer).
var kohyaOptimizers = []Term{
	{"AdamW", "adamw"}, {"AdamW8bit", "adamw-8bit"}, {"PagedAdamW8bit", "adamw-8bit"},
	{"Lion", "lion"}, {"Lion8bit", "lion-8bit"}, {"AdaFactor", "adafactor"}, {"Adafactor", "adafactor"},
}

// foundryOptimizers are the names in llm-foundry's registry. Composer's AdamW updates the weights one by one
// (optim/decoupled_weight_decay.py).
var foundryOptimizers = []Term{{"decoupled_adamw", "adamw-loop"}, {"decoupled_lionw", "lion"}}

const torchFused = "torch 2.9, optim/adamw.py"

// fusedSwitch returns the argument of torch.optim's classes that selects the fused kernel.
func fusedSwitch(path, source string) *Key {
	return &Key{Setting: "optimizer.kernel", Path: path, Kind: Switch, Means: "fused", Source: source}
}

// titanKernel is torchtitan's key for the kernel of the optimizer.
var titanKernel = Key{
	Setting: "optimizer.kernel", Path: "implementation", Kind: Word, Default: "fused", Source: torchtitanJob,
	Words: []Term{{"fused", "fused"}, {"foreach", "foreach"}, {"for-loop", "loop"}},
}
