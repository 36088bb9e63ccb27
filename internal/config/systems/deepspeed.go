// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"strings"

	"snug/internal/config/doc"
)

const (
	deepspeedArgs = "deepspeed 0.19, runtime/config.py and runtime/constants.py"
	deepspeedZero = "deepspeed 0.19, runtime/zero/config.py and offload_config.py"
)

// deepspeed is DeepSpeed's JSON. If transformers reads it, "auto" takes the value from TrainingArguments and must
// stay; a number must agree with TrainingArguments. train_batch_size must be micro-batch times accumulation times
// GPUs, or DeepSpeed refuses to start.
var deepspeed = System{
	Name: "deepspeed", Title: "DeepSpeed", Formats: []doc.Format{doc.JSON, doc.YAML}, Tied: true,
	Signs: []string{"train_micro_batch_size_per_gpu", "zero_optimization.stage", "zero_optimization train_batch_size"},
	Keys:  keysOf(deepspeedKeys),

	Finding: Finding{NoAutocast: true},
}

func deepspeedKeys() []Key {
	return append(deepspeedCompression(), []Key{
		{Setting: "batch", Path: "train_micro_batch_size_per_gpu", Kind: Whole, Unit: "samples per GPU", Source: deepspeedArgs},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Source: deepspeedArgs},
		{Setting: "effective", Path: "train_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: deepspeedArgs},
		{Setting: "precision", Path: "bf16.enabled", Kind: Switch, Means: "bf16", Source: deepspeedArgs},
		{Setting: "precision", Path: "fp16.enabled", Kind: Switch, Means: "fp16", Source: deepspeedArgs},
		{Setting: "clip", Path: "gradient_clipping", Kind: Above0, Source: deepspeedArgs},
		{Setting: "optimizer", Path: "optimizer.type", Kind: Word, Words: deepspeedOptimizers, Reads: anyOptimizer, Source: deepspeedArgs},
		{Setting: "dist.kind", Path: "zero_optimization.stage", Kind: Word, Words: zeroStages, Source: deepspeedArgs},
		offloads("zero_optimization.offload_optimizer.device", offloadsStates, deepspeedZero),
		offloads("zero_optimization.offload_param.device", offloadsWeights, deepspeedZero),
		less("zero_optimization.cpu_offload", offloadsStates, deepspeedZero+" (deprecated)"),
		either("quantize_training.enabled", "rounds weights to fewer bits while it trains", "deepspeed 0.3 to 0.8, runtime/config.py"),
		splits("tensor_parallel.autotp_size", "deepspeed 0.19, runtime/tensor_parallel/config.py"),
		shares("sequence_parallel_size", deepspeedArgs),
	}...)
}

// deepspeedCompression returns the switches of DeepSpeed's compression, which replaces a model's linear layers by its own.
func deepspeedCompression() (out []Key) {
	for _, method := range []string{"weight_quantization", "activation_quantization", "sparse_pruning", "row_pruning", "head_pruning", "channel_pruning"} {
		out = append(out, Key{Setting: "refused", Path: "compression_training." + method + ".shared_parameters.enabled", Kind: Switch,
			Means: "trains with DeepSpeed's compression, which has its own layers", Source: "deepspeed 0.19, compression/constants.py"})
	}
	return append(out, Key{Setting: "refused", Path: "compression_training.layer_reduction.enabled", Kind: Switch,
		Means: "trains with fewer of the model's layers", Source: "deepspeed 0.19, compression/constants.py"})
}

// DeepSpeedPrefix is the prefix of DeepSpeed keys within another file.
const DeepSpeedPrefix = "deepspeed."

// WithinDeepSpeed reports whether a key is in a DeepSpeed config. Such keys are changed but never added,
// because a stage alone is not a config.
func (k *Key) WithinDeepSpeed() bool { return strings.HasPrefix(k.Path, DeepSpeedPrefix) }

// deepspeedWithin returns the keys for when TrainingArguments' deepspeed is the config itself, not a path.
func deepspeedWithin() []Key {
	return at(DeepSpeedPrefix,
		Key{Setting: "dist.kind", Path: "zero_optimization.stage", Kind: Word, Words: zeroStages, Source: deepspeedArgs},
		offloads("zero_optimization.offload_optimizer.device", offloadsStates, deepspeedZero),
		offloads("zero_optimization.offload_param.device", offloadsWeights, deepspeedZero),
	)
}
