// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"snug/internal/setup"
)

// How weights come to a GPU that keeps a part of them. Every library that has a
// key for FSDP leaves the model on the CPU or on the meta device until it is
// sharded, so that no GPU holds all of it: torchtitan (0.2, train.py: meta device
// and to_empty), accelerate and with it transformers, TRL, Axolotl and
// LLaMA-Factory (1.15, accelerator.py: device_placement, and utils/fsdp_utils.py;
// cpu_ram_efficient_loading saves the CPU's memory), Lightning (2.6,
// strategies/fsdp.py and model_parallel.py) and Composer. Code of one's own may
// load it as it likes. Under ZeRO-3 transformers makes a model with zero.Init
// (5.22, modeling_utils.py), whatever accelerate's zero3_init_flag says: 1.15 tells
// transformers of DeepSpeed's config in any case (set_deepspeed_weakref).

// arrives is dist.load of a kind, "" where it has none, nobody can tell or a
// setup means it anyway.
func (p *Run) arrives(kind string) string {
	if !setup.DistTakes(kind, "load") {
		return ""
	}
	if said, _ := p.Value("dist.load").(string); said != "" {
		return said
	}
	if kind == "zero3" || !p.isLibrarys("dist.kind") {
		return "" // which is sharded for ZeRO-3
	}
	return setup.LoadSharded
}

// isLibrarys tells whether the key of a setting is one that a library reads.
// Without any, some shard by themselves.
func (p *Run) isLibrarys(setting string) bool {
	of := p.of(setting)
	return len(of) == 0 && p.shardsItself() || slices.ContainsFunc(of, func(b bound) bool {
		return !b.source.adapter.OwnProgram
	})
}

// shardsItself tells whether a run over several GPUs is FSDP's without a key that says
// so: torchtitan's, and those of torchtune's recipes that are called distributed, which
// make the model on the meta device (torchtune 0.6.1, recipes/*_distributed.py).
func (p *Run) shardsItself() bool {
	if p.main == nil || !p.main.adapter.Shards {
		return false
	}
	recipes := p.main.adapter.ShardingRecipes
	return recipes == "" || slices.ContainsFunc(p.read(), func(s *source) bool { return s.starts(recipes) })
}

// gathers is the type that FSDP gathers and reduces in under autocast, "" where it
// keeps that of the weights: accelerate and Lightning give FSDP a policy of the
// autocast's type (accelerate 1.15, utils/dataclasses.py: set_mixed_precision;
// lightning 2.6, plugins/precision/fsdp.py), so that autocast finds nothing to cast.
func (p *Run) gathers(kind, precision string) string {
	cast, autocast := strings.CutPrefix(precision, "amp-")
	if !autocast || !strings.HasPrefix(kind, "fsdp2") || !p.isPolicys() {
		return ""
	}
	return cast
}

// isPolicys tells whether accelerate or Lightning wraps the model.
func (p *Run) isPolicys() bool {
	return slices.ContainsFunc(p.of("dist.kind"), func(b bound) bool {
		return b.source.adapter.GathersInAutocast
	})
}
