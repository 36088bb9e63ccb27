// SPDX-License-Identifier: Apache-2.0

package systems

import "slices"

// upcast is the source for PEFT's cast of adapters to float32.
const (
	upcast     = "autocast_adapter_dtype is on in peft 0.16 to 0.21, mapping_func.py"
	peftConfig = "peft 0.16, tuners/lora/config.py"
)

// loraArguments are the arguments of LoraConfig that affect memory. Rank is 8 by default.
var loraArguments = []Key{
	{Setting: "lora.rank", Path: "r", Kind: Whole, Source: peftConfig},
	{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Source: peftConfig},
	{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Source: peftConfig},
	{Setting: "lora.targets", Path: "target_modules", Kind: Names, Source: peftConfig},
	{Setting: "lora.dora", Path: "use_dora", Kind: Switch, Source: peftConfig},
	{Setting: "lora.save", Path: "modules_to_save", Kind: Names, Source: peftConfig},
	{Setting: "uncounted", Path: "target_parameters", Kind: Names, Source: peftConfig},
	{Setting: "uncounted", Path: "lora_bias", Kind: Switch, Means: "adapter biases", Source: peftConfig},
	{Setting: "uncounted", Path: "bias", Kind: Word, Words: []Term{{"none", ""}, {"all", "trained biases"}, {"lora_only", "trained biases"}}, Source: peftConfig},
}

// loraMade are the settings implied by creating a LoraConfig.
var loraMade = []Key{
	{Setting: "lora", Kind: Switch, Source: peftConfig},
	{Setting: "lora.peft", Kind: Switch, Source: upcast},
}

// LoRAArguments returns the keys of PEFT's LoraConfig in a script.
func LoRAArguments() []Key { return slices.Clone(loraArguments) }

// LoRAMade returns the settings implied by creating a LoraConfig in a script.
func LoRAMade() []Key { return slices.Clone(loraMade) }
