// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const (
	autotrainParams = "autotrain-advanced 0.8.37, trainers/clm/params.py"
	autotrainModel  = "autotrain-advanced 0.8.37, trainers/clm/utils.py: get_model"
	autotrainArgs   = "autotrain-advanced 0.8.37, trainers/clm/utils.py: configure_training_args"
	autotrainTask   = "autotrain-advanced 0.8.37, parser.py"
)

// autotrain is AutoTrain's YAML. Only supervised finetuning with TRL's trainer is simulated. The TRL that it requires, 0.14,
// has no chunked loss, and prepares quantized weights with PEFT's function.
var autotrain = System{
	Name: "autotrain", Title: "AutoTrain", Formats: []doc.Format{doc.YAML},
	Signs: []string{"task base_model project_name", "task base_model backend params"},
	Keys:  keysOf(autotrainKeys),

	Loading: Loading{
		Loop: "trainer", LoadsTyped: true, SavedSince5: true,
		PreparesQuantized: true, CastsBack: true, QuantizedAdapters: "bf16", CastsIfBF16: true, // trl 0.14, trainer/sft_trainer.py and trainer/utils.py
	},
	Sharding: Sharding{GathersInAutocast: true},
}

func autotrainKeys() []Key {
	adapts := func(k Key) Key {
		k.OnlyIf = "params.peft"
		return k
	}
	return append([]Key{
		{Setting: "refused", Path: "task", Kind: Word, Words: autotrainTasks, Means: notTokens, Source: autotrainTask},
		{Setting: "model", Path: "base_model", Kind: Name, Source: autotrainTask},
		{Setting: "noted", Path: "data.valid_split", Kind: Present, Means: "evaluates after each epoch", Then: mayTakeMore, Source: autotrainArgs},
		{Setting: "weights", Kind: Word, Words: torchTypes, Default: "auto", Source: autotrainModel},
		{Setting: "lora.peft", Kind: Switch, Default: "true", Source: autotrainModel + "; " + upcast},
		{Setting: "quantization.type", Kind: Word, Words: quantTypes, Default: "nf4", Source: autotrainModel},
		{Setting: "quantization.compute", Kind: Word, Words: computeTypes, Default: "float16", Source: autotrainModel},
	}, at("params.",
		Key{Setting: "batch", Path: "batch_size", Kind: Whole, Unit: "samples per GPU", Default: "2", Source: autotrainParams},
		Key{Setting: "accumulation", Path: "gradient_accumulation", Kind: Whole, Unit: "forward passes", Default: "4", Source: autotrainParams},
		Key{Setting: "seq", Path: "block_size", Kind: Whole, Unit: "tokens", Default: "1024", Source: autotrainParams + "; utils.py: configure_block_size"},
		Key{Setting: "precision", Path: "mixed_precision", Kind: Word, Words: mixedPrecision, Source: autotrainArgs},
		Key{Setting: "checkpointing", Path: "disable_gradient_checkpointing", Kind: Switch, Inverted: true, Default: "false", Source: autotrainArgs},
		Key{Setting: "optimizer", Path: "optimizer", Kind: Word, Words: hfOptimizers, Default: "adamw_torch", Source: autotrainParams},
		paged("optimizer", autotrainParams),
		Key{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Default: "1.0", Source: autotrainParams},
		Key{Setting: "attention", Path: "use_flash_attention_2", Kind: Word, Words: []Term{{"true", "flash"}, {"false", "sdpa"}}, Default: "false", Source: autotrainModel},
		Key{Setting: "lora", Path: "peft", Kind: Switch, Default: "false", Source: autotrainParams},
		Key{Setting: "lora.rank", Path: "lora_r", Kind: Whole, Default: "16", Source: autotrainParams},
		Key{Setting: "lora.alpha", Path: "lora_alpha", Kind: Number, Default: "32", Source: autotrainParams},
		Key{Setting: "lora.dropout", Path: "lora_dropout", Kind: Number, Default: "0.05", Source: autotrainParams},
		Key{Setting: "lora.targets", Path: "target_modules", Kind: Names, Default: "all-linear", Source: autotrainParams},
		adapts(Key{Setting: "quantized", Path: "quantization", Kind: Word, Words: []Term{{"int4", FourBit}, {"int8", EightBit}, {"", ""}, {"none", ""}}, Means: "fewer bits", Source: autotrainModel}),
		Key{Setting: "noted", Path: "peft", Kind: Switch, Means: "quantizes weights to 4 bits unless params.quantization says otherwise", Then: takesLess, Without: "quantization", Source: autotrainParams},
		adapts(Key{Setting: "use_reentrant", Path: "quantization", Kind: Word, Words: []Term{{"int4", "true"}, {"int8", "true"}, {"", "false"}, {"none", "false"}}, Source: autotrainArgs}),
		marked("distributed_backend", takesLess, autotrainParams, Term{"deepspeed", "shards the run with DeepSpeed on the GPUs that it finds"}),
		either("unsloth", "replaces layers with Unsloth's kernels", autotrainModel),
	)...)
}

// autotrainTasks are the tasks with a loss over tokens in TRL's trainer, and what others do.
var autotrainTasks = []Term{
	{"llm-sft", ""}, {"llm", "trains with AutoTrain's own trainer"}, {"llm-generic", "trains with AutoTrain's own trainer"},
	{"llm-dpo", comparesPairs}, {"llm-orpo", comparesPairs}, {"llm-reward", scoresAnswers},
	{"seq2seq", "trains an encoder and a decoder with AutoTrain's own trainer"},
	{"text_classification", Classifies}, {"text-classification", Classifies}, {"text_regression", Classifies}, {"text-regression", Classifies},
	{"image_classification", "classifies images"}, {"image-classification", "classifies images"}, {"image_regression", "scores images"}, {"image-regression", "scores images"},
	{"token_classification", "classifies tokens"}, {"token-classification", "classifies tokens"}, {"extractive-qa", "marks answers in a text"},
	{"sentence-transformers:pair", comparesTexts}, {"sentence-transformers:pair_class", comparesTexts}, {"sentence-transformers:pair_score", comparesTexts},
	{"sentence-transformers:triplet", comparesTexts}, {"sentence-transformers:qa", comparesTexts},
}
