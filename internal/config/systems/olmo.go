// SPDX-License-Identifier: Apache-2.0

package systems

import "snug/internal/config/doc"

const (
	olmoTrain = "allenai/OLMo, olmo/config.py: TrainConfig"
	olmoSizes = "allenai/OLMo, olmo/config.py: ModelConfig"
)

// olmo is the YAML of OLMo's own trainer, which contains the sizes of the model. Accumulation follows from the
// global batch, and the launcher sets the number of GPUs.
var olmo = System{
	Name: "olmo", Title: "OLMo's trainer", Formats: []doc.Format{doc.YAML},
	Signs: []string{"model.d_model model.max_sequence_length device_train_microbatch_size", "model.d_model model.max_sequence_length global_train_batch_size"},
	Keys:  keysOf(olmoKeys),

	Loading:  Loading{Describes: olmoModel},
	Sharding: Sharding{GathersInAutocast: true},
}

func olmoKeys() []Key {
	return []Key{
		{Setting: "model", Path: "model", Kind: Object, Source: olmoSizes},
		{Setting: "batch", Path: "device_train_microbatch_size", Kind: Whole, Unit: "samples per GPU", Default: "16", Source: olmoTrain},
		{Setting: "effective", Path: "global_train_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Default: "512", Source: olmoTrain},
		{Setting: "precision", Path: "precision", Kind: Word, Words: []Term{{"amp_bf16", "amp-bf16"}, {"amp_fp16", "amp-fp16"}, {"fp32", "fp32"}}, Source: olmoTrain + ".autocast_precision"},
		{Setting: "checkpointing", Path: "activation_checkpointing", Kind: Word, Words: olmoCheckpoints, Default: "null", Source: "allenai/OLMo, olmo/config.py: ActivationCheckpointingStrategy"},
		{Setting: "seq", Path: "model.max_sequence_length", Kind: Whole, Unit: "tokens", Default: "1024", Source: "allenai/OLMo, olmo/data: build_memmap_dataset"},
		{Setting: "workers", Path: "data.num_workers", Kind: Whole, Unit: "processes per GPU", Source: "allenai/OLMo, olmo/config.py: DataConfig"},
		{Setting: "optimizer", Path: "optimizer.name", Kind: Word, Words: []Term{{"adamw", "adamw"}}, Source: "allenai/OLMo, olmo/optim.py: build_optimizer"},
		{Setting: "attention", Path: "model.flash_attention", Kind: Switch, Means: "flash", Source: "allenai/OLMo, olmo/model.py: OLMoBlock"},
		{Setting: "clip", Path: "max_grad_norm", Kind: Above0, Source: olmoTrain},
		{Setting: "dist.kind", Path: "fsdp.sharding_strategy", Kind: Word, Words: fsdp1Strategies, Source: "allenai/OLMo, olmo/config.py: FSDPConfig"},
		{Setting: "dist.kind", Path: "distributed_strategy", Kind: Word, Words: []Term{{"fsdp", "fsdp1"}, {"ddp", "ddp"}, {"single", ""}}, Source: olmoTrain},
		{Setting: "dist.kind", Path: "fsdp.precision", Kind: Word, Words: []Term{{"mixed", "fsdp1"}, {"pure", "fsdp1"}}, Vague: true, Source: olmoTrain + ".distributed_strategy"},
		{Setting: "dist.mixed", Path: "fsdp.precision", Kind: Word, Words: []Term{{"mixed", "weights"}, {"pure", "all"}}, Default: "pure", Source: olmoTrain + ".fsdp_precision"},
		{Setting: "noted", Path: "model.d_model", Kind: Present, Means: "describes OLMo's own layers, which differ from transformers'", Then: takesEither, Source: "allenai/OLMo, olmo/model.py"},
		marked("activation_checkpointing", takesLess, olmoTrain, olmoPartly...),
		{Setting: "noted", Path: "model.clip_qkv", Kind: Above0, Means: "clamps queries, keys and values", Then: takesMore, Source: olmoSizes},
		{Setting: "noted", Path: "model.residual_dropout", Kind: Above0, Means: dropsOut, Then: takesMore, Source: olmoSizes},
		{Setting: "noted", Path: "model.embedding_dropout", Kind: Above0, Means: dropsOut, Then: takesMore, Source: olmoSizes},
		{Setting: "noted", Path: "softmax_auxiliary_loss", Kind: Switch, Means: "adds a loss on the normalizer of the softmax", Then: takesMore, Source: olmoTrain},
		less("fused_loss", "computes the loss with flash-attn's kernel", olmoTrain),
		{Setting: "noted", Path: "compile", Kind: Present, Means: compiles, Then: takesEither, Source: olmoTrain},
	}
}

const dropsOut = "keeps a mask for each dropout"

// olmoCheckpoints are the strategies for recomputing layers. Those that recompute only some layers are noted.
var olmoCheckpoints = []Term{
	{"whole_layer", "true"}, {"", "false"}, {"one_in_two", "false"}, {"one_in_three", "false"}, {"one_in_four", "false"}, {"one_in_eight", "false"},
	{"two_in_three", "false"}, {"three_in_four", "false"}, {"fine_grained", "false"},
}

var olmoPartly = []Term{
	{"whole_layer", ""}, {"", ""}, {"one_in_two", someLayers}, {"one_in_three", someLayers}, {"one_in_four", someLayers}, {"one_in_eight", someLayers},
	{"two_in_three", someLayers}, {"three_in_four", someLayers}, {"fine_grained", "recomputes a part of each layer"},
}

const someLayers = "recomputes only some of the layers"

// olmoModel returns the config.json of the family that has the layers described by OLMo's sizes (olmo/model.py:
// OLMoSequentialBlock). Defaults are those of ModelConfig.
func olmoModel(sizes map[string]any) (config map[string]any, why string) {
	s := &described{values: sizes}
	if why := olmoDiffers(s); why != "" {
		return nil, why
	}
	width, heads := s.number("d_model", 768), s.number("n_heads", 12)
	config = map[string]any{
		"model_type": olmoFamily(s), "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": s.number("n_layers", 12),
		"num_key_value_heads": s.number("n_kv_heads", heads),
		// One layer computes both halves of SwiGLU.
		"intermediate_size":       s.number("mlp_hidden_size", s.number("mlp_ratio", 4)*width) / 2,
		"vocab_size":              s.number("embedding_size", s.number("vocab_size", 50304)),
		"max_position_embeddings": s.number("max_sequence_length", 1024),
		"attention_dropout":       s.number("attention_dropout", 0.1),
		"tie_word_embeddings":     s.on("weight_tying", true),
	}
	if s.wrong != "" {
		return nil, "has a value of the wrong kind (" + s.wrong + ")"
	}
	return config, ""
}

// olmoFamily returns the family with the norms of a model, or "" if there is none.
func olmoFamily(s *described) string {
	norm, affine := s.word("layer_norm_type", "default"), s.on("layer_norm_with_affine", true)
	after, inside := s.on("norm_after", false), s.on("attention_layer_norm", false)
	switch {
	case norm == "rms" && affine && after && inside && s.on("attention_layer_norm_with_affine", true):
		return "olmo2"
	case after || inside:
	case norm == "rms" && affine:
		return "llama"
	case norm == "default" && !affine:
		return "olmo"
	}
	return ""
}

// olmoDiffers returns how a model differs from every known family, or "".
func olmoDiffers(s *described) string {
	biases := s.on("include_bias", true)
	switch {
	case olmoFamily(s) == "":
		return "has norms that no known family has"
	case biases || s.on("bias_for_layer_norm", biases):
		return "has layers with biases"
	case s.on("alibi", false) || !s.on("rope", false):
		return "has no rotary positions"
	case s.word("activation_type", "swiglu") != "swiglu" || s.word("block_type", "sequential") != "sequential":
		return "has an MLP or blocks that no known family has"
	case s.on("embedding_layer_norm", false) || s.on("multi_query_attention", false):
		return "has embeddings or heads that no known family has"
	}
	return ""
}
