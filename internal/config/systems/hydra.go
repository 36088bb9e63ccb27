// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const hydraTemplate = "ashleve/lightning-hydra-template, configs/"

// hydra is for YAML trees that Hydra composes: a main file whose defaults list selects one file from each
// group. The keys are those of the Lightning template; other names are found as in plain files.
var hydra = System{
	Name: "hydra", Title: "Hydra", Formats: []doc.Format{doc.YAML},
	Signs: []string{"defaults.*"},
	Keys:  keysOf(hydraKeys),

	Finding:  Finding{Composes: true, Rest: &plain, HasStages: true},
	Sharding: Sharding{GathersInAutocast: true},
}

func hydraKeys() []Key {
	return append([]Key{
		{Setting: "batch", Path: "data.batch_size", Kind: Whole, Unit: "samples per GPU", Source: hydraTemplate + "data/mnist.yaml"},
		{Setting: "batch", Path: "datamodule.batch_size", Kind: Whole, Unit: "samples per GPU", Source: hydraTemplate + "datamodule (until 2.0)"},
		{Setting: "accumulation", Path: "trainer.accumulate_grad_batches", Kind: Whole, Unit: "forward passes", Source: lightningTrainer},
		{Setting: "precision", Path: "trainer.precision", Kind: Word, Words: lightningPrecision, Source: lightningTrainer},
		{Setting: "workers", Path: "data.num_workers", Kind: Whole, Unit: "processes per GPU", Source: hydraTemplate + "data/mnist.yaml"},
		{Setting: "clip", Path: "trainer.gradient_clip_val", Kind: Above0, ClipsUnfused: true, Source: lightningTrainer},
		{Setting: "dist.world", Path: "trainer.devices", Kind: Whole, Unit: "GPUs", Source: lightningTrainer},
		{Setting: "nodes", Path: "trainer.num_nodes", Kind: Whole, Unit: "machines", Source: lightningTrainer},
	}, at("trainer.strategy", strategyKeys()...)...)
}
