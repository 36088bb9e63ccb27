// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const torchtuneConfigs = "torchtune 0.6.1, recipes/configs"

// torchtune is for torchtune's recipe configs. dtype is the type of the weights.
var torchtune = System{
	Name: "torchtune", Title: "torchtune", Formats: []doc.Format{doc.YAML},
	Signs: []string{"model._component_", "tokenizer._component_ batch_size"},
	Keys:  keysOf(torchtuneKeys),

	Finding: Finding{TrainsWith: "optimizer"}, // in 0.6.1, recipes without an optimizer evaluate, generate or quantize
	Loading: Loading{Loop: "torchtune", FusesNothing: true, QuantizesItself: "quantizes weights with torchtune's own code, which is not simulated"},
	// Recipes for several GPUs create the model on the meta device (0.6.1, recipes/*_distributed.py).
	Sharding: Sharding{Shards: true, ShardingRecipes: "_distributed"},
}

func torchtuneKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model._component_", Kind: Word, Words: torchtuneModels, Source: torchtuneConfigs},
		{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Source: torchtuneConfigs},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Source: torchtuneConfigs},
		{Setting: "precision", Path: "dtype", Kind: Word, Words: []Term{{"bf16", "bf16"}, {"fp32", "fp32"}, {"fp16", "fp16"}}, Source: torchtuneConfigs},
		{Setting: "checkpointing", Path: "enable_activation_checkpointing", Kind: Switch, Source: torchtuneConfigs},
		{Setting: "seq", Path: "tokenizer.max_seq_len", Kind: Whole, Unit: "tokens", Source: torchtuneConfigs},
		{Setting: "optimizer", Path: "optimizer._component_", Kind: Word, Words: torchClasses, Reads: anyOptimizer,
			Beside: fusedSwitch("fused", torchFused), Source: torchtuneConfigs},
		{Setting: "clip", Path: "clip_grad_norm", Kind: Above0, Source: torchtuneConfigs},
		{Setting: "lora.rank", Path: "model.lora_rank", Kind: Whole, Source: torchtuneConfigs},
		{Setting: "lora.alpha", Path: "model.lora_alpha", Kind: Number, Source: torchtuneConfigs},
		{Setting: "lora.dropout", Path: "model.lora_dropout", Kind: Number, Source: torchtuneConfigs},
		{Setting: "lora.targets", Path: "model.lora_attn_modules", Kind: Names, Source: torchtuneConfigs},
		{Setting: "lora.mlp", Path: "model.apply_lora_to_mlp", Kind: Switch, Source: torchtuneConfigs},
		{Setting: "lora.output", Path: "model.apply_lora_to_output", Kind: Switch, Source: torchtuneConfigs},
		{Setting: "lora.dora", Path: "model.use_dora", Kind: Switch, Source: torchtuneConfigs},
		{Setting: "quantized", Path: "model.quantize_base", Kind: Switch, Means: "4 bits", Source: torchtuneConfigs},
		{Setting: "quantized", Path: "model._component_", Kind: Word, Words: torchtuneQuantized, Source: torchtuneConfigs},
		{Setting: "refused", Path: "quantizer._component_", Kind: Present, Means: "rounds the weights of every linear layer as quantization would", Source: "torchtune 0.6.1, recipes/qat_distributed.py"},
		{Setting: "refused", Path: "early_exit_loss", Kind: Present, Means: "also computes a loss at inner layers", Source: torchtuneConfigs},
		{Setting: "noted", Path: "layer_dropout", Kind: Present, Means: "skips layers at random", Then: takesLess, Source: torchtuneConfigs},
		marked("ac_mode", takesMore, "torchtune, recipes/dev", Term{"selective", "checkpoints only some of the layers"}),
		either("enable_fp8_training", "multiplies matrices in 8 bits", "torchtune, recipes/full_finetune_distributed.py"),
		splits("tensor_parallel_dim", torchtuneConfigs),
		shares("context_parallel_dim", torchtuneConfigs),
		less("fsdp_cpu_offload", offloadsAll, torchtuneConfigs),
		inBackward(),
		offloadedActivations(),
		either("compile", compiles, torchtuneConfigs),
		wholeLoss(), chunkedLoss(),
		marked("loss._component_", takesLess, torchtuneConfigs, Term{"torchtune.modules.loss.LinearCrossEntropyLoss", noLogits}),
		paged("optimizer._component_", torchtuneConfigs),
	}
}

// inBackward returns the key for optimizer steps during backward. A gradient is freed as soon as it is used,
// so recipes refuse to accumulate (torchtune 0.6.1, recipes/full_finetune_single_device.py).
func inBackward() Key {
	k := less("optimizer_in_bwd", "updates each weight as soon as its gradient is ready", torchtuneConfigs)
	k.Locks = &Lock{"accumulation", "is on, and torchtune cannot accumulate gradients with it"}
	return k
}

// offloadedActivations returns the key for activations in host memory.
func offloadedActivations() Key {
	k := less("enable_activation_offloading", offloadsActivations, torchtuneConfigs)
	k.Locks = &Lock{"checkpointing", "is on, and torchtune accepts it only with activation checkpointing"}
	return k
}

// chunkedLoss returns the key for the loss that never casts all logits at once, which is the one that the loop
// simulates.
func chunkedLoss() Key {
	k := marked("loss._component_", takesLess, torchtuneConfigs, Term{"torchtune.modules.loss.CEWithChunkedOutputLoss", noLogits})
	k.Unless = "torchtune"
	return k
}

// wholeLoss returns the key for the loss that casts all logits at once, which the loop does not simulate.
func wholeLoss() Key {
	k := marked("loss._component_", takesMore, torchtuneConfigs, Term{"torch.nn.CrossEntropyLoss", "casts all logits to float32 at once"})
	k.Within = "torchtune"
	return k
}

// torchtuneModels are the builders of known models: from models/*/_model_builders.py of torchtune 0.6.1, and of its
// last commit for qwen3 and smol. Its qwen2 builders have as many positions as the chat models.
var torchtuneModels = torchtuneBuilders(map[string]string{
	"llama2.llama2_7b": "llama-2-7b", "llama2.llama2_13b": "llama-2-13b", "llama2.llama2_70b": "llama-2-70b",
	"llama3.llama3_8b": "llama-3-8b", "llama3.llama3_70b": "llama-3-70b",
	"llama3_1.llama3_1_8b": "llama-3.1-8b", "llama3_1.llama3_1_70b": "llama-3.1-70b", "llama3_1.llama3_1_405b": "meta-llama/Llama-3.1-405B",
	"llama3_2.llama3_2_1b": "llama-3.2-1b", "llama3_2.llama3_2_3b": "llama-3.2-3b",
	"llama3_3.llama3_3_70b": "meta-llama/Llama-3.3-70B-Instruct",
	"mistral.mistral_7b":    "mistral-7b", "phi3.phi3_mini": "phi-3-mini", "phi4.phi4_14b": "microsoft/phi-4",
	"gemma.gemma_2b": "gemma-2b", "gemma.gemma_7b": "gemma-7b",
	"gemma2.gemma2_2b": "gemma-2-2b", "gemma2.gemma2_9b": "gemma-2-9b", "gemma2.gemma2_27b": "gemma-2-27b",
	"qwen2.qwen2_0_5b": "Qwen/Qwen2-0.5B-Instruct", "qwen2.qwen2_1_5b": "Qwen/Qwen2-1.5B-Instruct", "qwen2.qwen2_7b": "Qwen/Qwen2-7B-Instruct",
	"qwen2_5.qwen2_5_0_5b": "qwen2.5-0.5b", "qwen2_5.qwen2_5_3b": "qwen2.5-3b",
	"qwen2_5.qwen2_5_1_5b_base": "qwen2.5-1.5b", "qwen2_5.qwen2_5_1_5b_instruct": "Qwen/Qwen2.5-1.5B-Instruct",
	"qwen2_5.qwen2_5_7b_base": "qwen2.5-7b", "qwen2_5.qwen2_5_7b_instruct": "Qwen/Qwen2.5-7B-Instruct",
	"qwen2_5.qwen2_5_14b_base": "qwen2.5-14b", "qwen2_5.qwen2_5_14b_instruct": "Qwen/Qwen2.5-14B-Instruct",
	"qwen2_5.qwen2_5_32b_base": "qwen2.5-32b", "qwen2_5.qwen2_5_32b_instruct": "Qwen/Qwen2.5-32B-Instruct",
	"qwen2_5.qwen2_5_72b_base": "qwen2.5-72b", "qwen2_5.qwen2_5_72b_instruct": "Qwen/Qwen2.5-72B-Instruct",
	"qwen3.qwen3_0_6b_base": "Qwen/Qwen3-0.6B-Base", "qwen3.qwen3_0_6b_instruct": "qwen3-0.6b",
	"qwen3.qwen3_1_7b_base": "Qwen/Qwen3-1.7B-Base", "qwen3.qwen3_1_7b_instruct": "qwen3-1.7b",
	"qwen3.qwen3_4b_base": "Qwen/Qwen3-4B-Base", "qwen3.qwen3_4b_instruct": "qwen3-4b",
	"qwen3.qwen3_8b_base": "Qwen/Qwen3-8B-Base", "qwen3.qwen3_8b_instruct": "qwen3-8b",
	"qwen3.qwen3_14b_base": "Qwen/Qwen3-14B-Base", "qwen3.qwen3_14b_instruct": "qwen3-14b",
	"qwen3.qwen3_32b":   "qwen3-32b",
	"smol.smollm2_135m": "smollm2-135m", "smol.smollm2_360m": "smollm2-360m", "smol.smollm2_1_7b": "smollm2-1.7b",
})
