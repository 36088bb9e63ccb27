// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"slices"

	"snug/internal/config/doc"
)

const (
	xtunerModel  = "xtuner 0.2, model/sft.py"
	xtunerConfig = "xtuner 0.2, configs"
	mmengineWrap = "mmengine 0.10, optim/optimizer/amp_optimizer_wrapper.py"
)

// xtuner is for XTuner's configs: Python files of assignments, from which MMEngine builds the run. Adapters are PEFT's,
// on every linear layer unless the file names some.
var xtuner = System{
	Name: "xtuner", Title: "XTuner", Formats: []doc.Format{doc.Python},
	Signs: []string{"model.llm train_dataloader optim_wrapper"},
	Keys:  keysOf(xtunerKeys),

	Finding: Finding{Startable: true, OnlyAssigns: true},
	Loading: Loading{LoadsTyped: true, PreparesQuantized: true, Computes: ComputesUnlessLoaded},
}

func xtunerKeys() []Key {
	keys := []Key{
		{Setting: "model", Path: "model.llm.pretrained_model_name_or_path", Kind: Name, Source: xtunerModel},
		{Setting: "batch", Path: "train_dataloader.batch_size", Kind: Whole, Unit: "samples per GPU", Default: "1", Source: xtunerConfig},
		{Setting: "accumulation", Path: "optim_wrapper.accumulative_counts", Kind: Whole, Unit: "forward passes", Default: "1", Source: "mmengine 0.10, optim/optimizer/optimizer_wrapper.py"},
		{Setting: "seq", Path: "max_length", Kind: Whole, Unit: "tokens", Source: xtunerConfig},
		{Setting: "seq", Path: "train_dataset.max_length", Kind: Whole, Unit: "tokens", Source: xtunerConfig},
		{Setting: "precision", Path: "optim_wrapper.dtype", Kind: Word, Words: []Term{{"float16", "amp-fp16"}, {"bfloat16", "amp-bf16"}, {"float32", "fp32"}}, Default: "float16", Source: mmengineWrap},
		{Setting: "weights", Path: "model.llm.torch_dtype", Kind: Word, Words: torchTypes, Default: "float32", Source: fromPretrained + " (before 5, as xtuner 0.2 needs it)"},
		{Setting: "checkpointing", Path: "model.use_activation_checkpointing", Kind: Switch, Default: "true", Source: xtunerModel},
		{Setting: "attention", Path: "model.llm.attn_implementation", Kind: Word, Words: hfAttention, Source: xtunerModel + ": _prepare_for_flash_attn"},
		{Setting: "workers", Path: "train_dataloader.num_workers", Kind: Whole, Unit: "processes per GPU", Source: xtunerConfig},
		{Setting: "optimizer", Path: "optim_wrapper.optimizer.type", Kind: Word, Words: torchClasses, Reads: anyOptimizer, Default: "torch.optim.AdamW", Source: xtunerConfig},
		{Setting: "clip", Path: "optim_wrapper.clip_grad.max_norm", Kind: Above0, Source: xtunerConfig},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: xtunerModel + ": _prepare_for_lora; " + upcast},
		{Setting: "lora.targets", Path: "model.lora.target_modules", Kind: Names, Default: "all-linear", Source: xtunerModel + ": find_all_linear_names"},
		{Setting: "quantized", Path: "model.llm.quantization_config.load_in_4bit", Kind: Switch, Means: FourBit, Source: bnbConfig},
		{Setting: "quantized", Path: "model.llm.quantization_config.load_in_8bit", Kind: Switch, Means: EightBit, Source: bnbConfig},
		{Setting: "refused", Path: "model.ref_llm", Kind: Present, Means: comparesAnswers, Source: "xtuner 0.2, model/dpo.py"},
		{Setting: "refused", Path: "model.reward_type", Kind: Present, Means: scoresAnswers, Source: "xtuner 0.2, model/reward.py"},
		{Setting: "refused", Path: "model.visual_encoder", Kind: Present, Means: "also runs a model for images", Source: "xtuner 0.2, model/llava.py"},
		shares("sequence_parallel_size", "xtuner 0.2, parallel/sequence"),
		less("model.use_varlen_attn", "attends only within each text of a packed sample", xtunerModel),
		{Setting: "noted", Kind: Word, Words: []Term{{"default", "uses flash attention if flash_attn is installed, and then loads the weights in bfloat16"}}, Default: "default", Then: takesEither, Source: xtunerModel + ": _prepare_for_flash_attn"},
	}
	lora := slices.DeleteFunc(LoRAArguments(), func(k Key) bool { return k.Setting == "lora.targets" })
	return slices.Concat(keys, at("model.lora.", lora...), bnbKeys("model.llm.quantization_config.", bnbConfig))
}
