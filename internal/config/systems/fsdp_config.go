// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

// fsdpConfig is the file that TrainingArguments' fsdp_config names. No key identifies such a file, so it is read only
// if another file or a flag names it.
var fsdpConfig = System{
	Name: "fsdp_config", Title: "the Trainer's FSDP config", Formats: []doc.Format{doc.JSON}, Tied: true,
	Keys: keysOf(fsdpConfigKeys),

	Sharding: Sharding{GathersInAutocast: true},
}

// fsdpConfigKeys returns the keys of fsdp_config, whose names may begin with fsdp_.
func fsdpConfigKeys() []Key {
	var out []Key
	for _, prefix := range []string{"", "fsdp_"} {
		out = append(out,
			Key{Setting: "checkpointing", Path: prefix + "activation_checkpointing", Kind: Switch, OfSharding: true, Source: hfArgs},
			Key{Setting: "dist.version", Path: prefix + "version", Kind: Whole, Source: hfArgs},
			Key{Setting: "dist.reshard", Path: prefix + "reshard_after_forward", Kind: Switch, Source: hfArgs},
			less(prefix+"offload_params", offloadsAll, hfArgs),
		)
	}
	return append(out, less("cpu_offload", offloadsAll, hfArgs))
}
