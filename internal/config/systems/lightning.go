// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const lightningTrainer = "lightning 2.6, pytorch/trainer/trainer.py"

// lightning is the config that LightningCLI reads. The Trainer's arguments are known; those of the data
// module are the user's, usually batch_size and num_workers.
var lightning = System{
	Name: "lightning", Title: "Lightning CLI", Formats: []doc.Format{doc.YAML},
	Signs: []string{
		"trainer.max_epochs data.class_path", "trainer.max_epochs data.init_args", "trainer data model.class_path",
		"trainer seed_everything", "fit.trainer", "trainer.accelerator data", "trainer.max_steps data",
	},
	Keys: keysOf(func() []Key { return append(lightningKeys(""), lightningKeys("fit.")...) }),

	Loading:  Loading{Loop: "lightning"},
	Sharding: Sharding{GathersInAutocast: true},
}

func lightningKeys(under string) []Key {
	user := "lightning 2.6, pytorch/tuner/tuning.py: batch_arg_name's default"
	keys := []Key{
		{Setting: "batch", Path: under + "data.init_args.batch_size", Kind: Whole, Unit: "samples per GPU", Source: user},
		{Setting: "batch", Path: under + "data.batch_size", Kind: Whole, Unit: "samples per GPU", Source: user},
		{Setting: "accumulation", Path: under + "trainer.accumulate_grad_batches", Kind: Whole, Unit: "forward passes", Default: "1", Source: lightningTrainer},
		{Setting: "accumulation", Path: under + "trainer.callbacks.*.init_args.scheduling", Kind: Schedule, Unit: "forward passes by epoch",
			Source: "lightning 2.6, pytorch/callbacks/gradient_accumulation_scheduler.py"},
		{Setting: "precision", Path: under + "trainer.precision", Kind: Word, Words: lightningPrecision, Default: "32-true", Source: lightningTrainer},
		{Setting: "checkpointing", Path: under + "model.init_args.gradient_checkpointing", Kind: Switch, Source: "convention"},
		{Setting: "seq", Path: under + "data.init_args.max_length", Kind: Whole, Unit: "tokens", Source: "convention"},
		{Setting: "seq", Path: under + "data.init_args.block_size", Kind: Whole, Unit: "tokens", Source: "convention"},
		{Setting: "positives", Path: under + "data.init_args.n_positives", Kind: Whole, Unit: "samples per anchor", Source: "convention"},
		{Setting: "negatives", Path: under + "data.init_args.n_negatives", Kind: Whole, Unit: "samples per anchor", Source: "convention"},
		{Setting: "eval.batch", Path: under + "data.init_args.eval_batch_size", Kind: Whole, Unit: "samples per GPU", Source: "convention"},
		{Setting: "eval.batch", Path: under + "data.init_args.val_batch_size", Kind: Whole, Unit: "samples per GPU", Source: "convention"},
		{Setting: "eval.when", Path: under + "trainer.limit_val_batches", Kind: Above0, Default: "1.0", Source: lightningTrainer},
		{Setting: "workers", Path: under + "data.init_args.num_workers", Kind: Whole, Unit: "processes per GPU", Source: "convention"},
		{Setting: "workers", Path: under + "data.num_workers", Kind: Whole, Unit: "processes per GPU", Source: "convention"},
		{Setting: "model", Path: under + "model.init_args.model_name_or_path", Kind: Name, Source: "convention"},
		{Setting: "model", Path: under + "model.init_args.model_name", Kind: Name, Source: "convention"},
		{Setting: "optimizer", Path: under + "optimizer.class_path", Kind: Word, Words: torchClasses, Reads: anyOptimizer,
			Beside: fusedSwitch("init_args.fused", torchFused), Source: "lightning 2.6, pytorch/cli.py"},
		{Setting: "clip", Path: under + "trainer.gradient_clip_val", Kind: Above0, ClipsUnfused: true, Source: lightningTrainer},
		{Setting: "dist.world", Path: under + "trainer.devices", Kind: Whole, Unit: "GPUs", Source: lightningTrainer},
		{Setting: "nodes", Path: under + "trainer.num_nodes", Kind: Whole, Unit: "machines", Source: lightningTrainer},
	}
	return append(keys, at(under+"trainer.strategy", strategyKeys()...)...)
}

// strategyKeys returns the keys of a strategy: its name, or its class with arguments.
func strategyKeys() []Key {
	classes := "lightning 2.6, pytorch/strategies"
	return []Key{
		{Setting: "dist.kind", Path: ".init_args.stage", Kind: Word, Words: zeroStages, Source: classes},
		{Setting: "dist.kind", Path: ".class_path", Kind: Word, Words: strategyClasses(), Source: classes},
		{Setting: "dist.kind", Kind: Word, Words: lightningStrategies, Source: lightningTrainer},
		marked("", takesLess, classes, offloadingStrategies...),
		marked("", takesMore, classes, Term{"fsdp", gathersWhole}, Term{"fsdp_cpu_offload", gathersWhole}),
		{Setting: "noted", Path: ".class_path", Kind: Word, Words: wholeClasses(), Then: takesMore, Without: "auto_wrap_policy", Source: classes},
		less(".init_args.offload_optimizer", offloadsStates, classes),
		less(".init_args.offload_parameters", offloadsWeights, classes),
		less(".init_args.cpu_offload", offloadsAll, classes),
		splits(".init_args.tensor_parallel_size", classes),
	}
}

// gathersWhole is what FSDP does if no setting selects the layers to wrap.
const gathersWhole = "wraps the model as one unit, unless the code passes an auto_wrap_policy, and gathers all weights at once"

// wholeClasses returns the names of Lightning's class for FSDP, which wraps the model as one unit by default.
func wholeClasses() (out []Term) {
	for _, t := range strategyClasses() {
		if t.Means == "fsdp1" {
			out = append(out, Term{t.File, gathersWhole})
		}
	}
	return out
}

// strategyClasses returns the classes with their modules, as in class_path.
func strategyClasses() []Term {
	var out []Term
	for _, module := range []string{"lightning.pytorch.strategies.", "pytorch_lightning.strategies.", ""} {
		out = append(out, Term{module + "DDPStrategy", "ddp"}, Term{module + "FSDPStrategy", "fsdp1"},
			Term{module + "ModelParallelStrategy", "fsdp2"}, Term{module + "DeepSpeedStrategy", "zero2"})
	}
	return out
}

// offloadingStrategies are the registry's names for strategies that also offload.
var offloadingStrategies = []Term{
	{"fsdp_cpu_offload", offloadsAll}, {"deepspeed_stage_2_offload", offloadsStates},
	{"deepspeed_stage_3_offload", "keeps weights and optimizer states in CPU memory"},
	{"deepspeed_stage_3_offload_nvme", "keeps weights and optimizer states on disk"},
}

// lightningStrategies are the registry's names (pytorch/strategies). fsdp is FullyShardedDataParallel, the first version;
// the second is ModelParallelStrategy, which has no name there.
var lightningStrategies = []Term{
	{"auto", ""}, {"single_device", ""},
	{"ddp", "ddp"}, {"ddp_find_unused_parameters_true", "ddp"}, {"ddp_find_unused_parameters_false", "ddp"},
	{"ddp_spawn", "ddp"}, {"ddp_notebook", "ddp"}, {"ddp_fork", "ddp"},
	{"fsdp", "fsdp1"},
	{"deepspeed", "zero2"}, {"deepspeed_stage_1", "zero1-deepspeed"}, {"deepspeed_stage_2", "zero2"}, {"deepspeed_stage_3", "zero3"},
	{"fsdp_cpu_offload", "fsdp1"}, {"deepspeed_stage_2_offload", "zero2"},
	{"deepspeed_stage_3_offload", "zero3"}, {"deepspeed_stage_3_offload_nvme", "zero3"},
}
