// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// This file determines how sharded weights are loaded onto a GPU. Every library that has a key for FSDP
// leaves the model on the CPU or on the meta device until it is sharded, so that no GPU ever has all of it:
// torchtitan (0.2, train.py: meta device and to_empty), accelerate and with it transformers, TRL, Axolotl and
// LLaMA-Factory (1.15, accelerator.py: device_placement, and utils/fsdp_utils.py; cpu_ram_efficient_loading
// saves the CPU's memory), Lightning (2.6, strategies/fsdp.py and model_parallel.py) and Composer. A user's
// own code may load the model in any way. Under ZeRO-3 transformers creates a model with zero.Init (5.22,
// modeling_utils.py), regardless of accelerate's zero3_init_flag: 1.15 always passes DeepSpeed's config to
// transformers (set_deepspeed_weakref).

// loadKind returns the value of dist.load for a kind of sharding; "" if the kind has none, or if the value is
// unknown or the default.
func (r *Run) loadKind(kind string) string {
	if !setup.DistTakes(kind, "load") {
		return ""
	}
	if load, _ := r.Value("dist.load").(string); load != "" {
		return load
	}
	if kind == "zero3" || !r.readByLibrary("dist.kind") {
		return "" // the default, which is sharded for ZeRO-3
	}
	return setup.LoadSharded
}

// fsdpKind returns the kind of sharding, for the version of FSDP that the files name or the key implies.
// accelerate's keys mean the first version unless the file names the second (accelerate 1.15, utils/dataclasses.py),
// as did transformers' own before 5.0. For the first version, only full sharding is simulated.
func (r *Run) fsdpKind(kind string) string {
	version := r.Whole("dist.version")
	first := r.transformers != "" && setup.Versions{Transformers: r.transformers}.TransformersRelease() < 500
	switch {
	case kind == setup.FSDP1 && version == 2:
		kind = setup.FSDP2
	case kind == setup.FSDP2 && (version == 1 || version == 0 && first):
		return setup.FSDP1
	}
	if kind == setup.FSDP2 && r.Value("dist.reshard") == false {
		return setup.FSDP2NoReshard
	}
	return kind
}

// firstFSDP returns the warning that FSDP1 keeps weights gathered between forward and backward, which is
// simulated as in FSDP2.
func (r *Run) firstFSDP() []string {
	kind, _ := r.Value("dist.kind").(string)
	of := r.BindingsOf("dist.kind")
	if kind != setup.FSDP2NoReshard || len(of) == 0 || r.World() < 2 || r.Whole("dist.version") == 2 {
		return nil
	}
	if path := of[0].Path.String(); !strings.Contains(path, "sharding_strategy") {
		return nil
	}
	return []string{of[0].Where() + ": FSDP1's SHARD_GRAD_OP is simulated as in FSDP2, with separate parameters; FSDP1's flat parameters briefly take more"}
}

// readByLibrary reports whether a library reads the key of a setting. Some libraries shard without a key
// (shardsByItself).
func (r *Run) readByLibrary(setting string) bool {
	of := r.BindingsOf(setting)
	return len(of) == 0 && r.shardsByItself() || slices.ContainsFunc(of, func(b projects.Bound) bool {
		return b.Key.OfLauncher || !r.reader(b).OwnProgram
	})
}

// reader returns the system that reads a key: for a script's flags, the trainer that gets them.
func (r *Run) reader(b projects.Bound) *systems.System {
	if b.Source.System.Commands != nil {
		return b.Source.Trainer()
	}
	return b.Source.System
}

// shardsByItself reports whether a run on several GPUs uses FSDP without a key for it: torchtitan's runs, and
// torchtune's distributed recipes, which create the model on the meta device (torchtune 0.6.1,
// recipes/*_distributed.py).
func (r *Run) shardsByItself() bool {
	if r.Primary == nil || !r.Primary.System.Shards {
		return false
	}
	recipes := r.Primary.System.ShardingRecipes
	return recipes == "" || slices.ContainsFunc(r.SourcesRead(), func(s *projects.Source) bool { return s.StartsProgram(recipes) })
}

// ownSharding returns how a trainer without a sharding key shards, and turns checkpointing on if the trainer
// does.
func (r *Run) ownSharding(out map[string]any) string {
	t := r.Trainer()
	if t.CheckpointsSharded {
		out["checkpointing"] = true
	}
	if r.adapts() && t.AdaptersAs != "" {
		return t.AdaptersAs
	}
	return cmp.Or(t.ShardsAs, setup.FSDP2)
}

// mixFSDP applies a key for what FSDP casts to the type of autocast: everything, only the weights, or
// nothing.
func (r *Run) mixFSDP(d map[string]any) {
	if d["param_dtype"] == nil || len(r.Trainer().ForSetting("dist.mixed")) == 0 {
		return
	}
	switch what, _ := r.ValueOrDefault("dist.mixed").(string); what {
	case "weights":
		d["reduce_dtype"] = "fp32"
	case "":
		delete(d, "param_dtype")
		delete(d, "reduce_dtype")
	}
}

// shardsWeights reports whether each GPU keeps a part of the weights.
func (r *Run) shardsWeights() bool {
	kind, _ := r.Value("dist.kind").(string)
	return r.World() > 1 && (strings.HasPrefix(kind, "fsdp") || kind == "zero3")
}

// gatherType returns the type that FSDP gathers and reduces in under autocast, or "" if it uses the weights'
// type: accelerate and Lightning give FSDP a policy of the autocast's type (accelerate 1.15,
// utils/dataclasses.py: set_mixed_precision; lightning 2.6, plugins/precision/fsdp.py), so autocast has
// nothing left to cast.
func (r *Run) gatherType(kind, precision string) string {
	cast, autocast := strings.CutPrefix(precision, "amp-")
	if !autocast || !strings.HasPrefix(kind, "fsdp") || !r.gathersInAutocast() {
		return ""
	}
	return cast
}

// gathersInAutocast reports whether accelerate or Lightning wraps the model.
func (r *Run) gathersInAutocast() bool {
	return slices.ContainsFunc(r.BindingsOf("dist.kind"), func(b projects.Bound) bool {
		return b.Key.OfLauncher || r.reader(b).GathersInAutocast
	})
}
