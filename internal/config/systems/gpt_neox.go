// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"math"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
)

const (
	neoxArgs   = "EleutherAI/gpt-neox, megatron/neox_arguments/neox_args.py"
	neoxSpeeds = "EleutherAI/gpt-neox, megatron/neox_arguments/deepspeed_args.py"
)

// gptNeoX is the config of GPT-NeoX, which contains the sizes of the model and DeepSpeed's settings. The launcher sets
// the number of GPUs. DeepSpeed keeps 16-bit weights and a float32 copy, which together are as large as the
// weights and their casts under autocast.
var gptNeoX = System{
	Name: "gpt-neox", Title: "GPT-NeoX", Formats: []doc.Format{doc.YAML, doc.JSON},
	Signs: []string{"num_layers hidden_size num_attention_heads train_micro_batch_size_per_gpu", "num-layers hidden-size num-attention-heads train_micro_batch_size_per_gpu"},
	Keys:  keysOf(gptNeoXKeys),

	Loading:  Loading{Describes: gptNeoXModel, DescribesAtTop: true},
	Sharding: Sharding{AlwaysDeepSpeed: true},
}

func gptNeoXKeys() []Key {
	keys := []Key{
		{Setting: "batch", Path: "train_micro_batch_size_per_gpu", Kind: Whole, Unit: "samples per GPU", Source: neoxSpeeds},
		{Setting: "accumulation", Path: "gradient_accumulation_steps", Kind: Whole, Unit: "forward passes", Default: "1", Source: neoxSpeeds},
		{Setting: "accumulation", Path: "gas", Kind: Whole, Unit: "forward passes", Source: neoxArgs},
		{Setting: "effective", Path: "train_batch_size", Kind: Whole, OverGPUs: true, Unit: "samples over all GPUs", Source: neoxSpeeds},
		{Setting: "precision", Path: "precision", Kind: Word, Words: []Term{{"bfloat16", "amp-bf16"}, {"fp16", "amp-fp16"}, {"fp32", "fp32"}}, Source: neoxArgs},
		{Setting: "precision", Path: "bf16.enabled", Kind: Switch, Means: "amp-bf16", Source: neoxSpeeds},
		{Setting: "precision", Path: "fp16.enabled", Kind: Switch, Means: "amp-fp16", Source: neoxSpeeds},
		{Setting: "optimizer", Path: "optimizer.type", Kind: Word, Words: []Term{{"Adam", "adamw-fused"}}, Source: "EleutherAI/gpt-neox, megatron/training.py: get_optimizer"},
		{Setting: "dist.kind", Path: "zero_optimization.stage", Kind: Word, Words: zeroStages, Source: neoxSpeeds},
		marked("fp16.type", takesEither, "EleutherAI/gpt-neox, configs/pythia", Term{"bfloat16", "trains in bfloat16 with older versions"}),
		less("zero_optimization.cpu_offload", offloadsStates, deepspeedZero),
		{Setting: "noted", Path: "train_micro_batch_size_per_gpu", Kind: Present, Means: "belongs to GPT-NeoX, whose layers differ from transformers', and which uses DeepSpeed's float32 copies of the weights instead of autocast", Then: takesEither,
			Source: "EleutherAI/gpt-neox, megatron/model/transformer.py"},
	}
	for _, k := range []Key{
		{Setting: "seq", Path: "seq_length", Kind: Whole, Unit: "tokens", Source: neoxArgs},
		{Setting: "checkpointing", Path: "checkpoint_activations", Kind: Switch, Default: "false", Source: neoxArgs},
		{Setting: "clip", Path: "gradient_clipping", Kind: Above0, Default: "1.0", Source: neoxSpeeds},
		{Setting: "workers", Path: "num_workers", Kind: Whole, Unit: "processes per GPU", Source: neoxArgs},
		{Setting: "attention", Path: "attention_config.0.0.0", Kind: Word, Words: []Term{{"flash", "flash"}, {"global", "eager"}}, Default: "global", Source: neoxArgs},
		splits("model_parallel_size", neoxArgs), splits("pipe_parallel_size", neoxArgs),
		{Setting: "refused", Path: "moe_num_experts", Kind: Above1, Means: "describes a model with experts", Source: neoxArgs},
		{Setting: "refused", Path: "train_impl", Kind: Word, Words: []Term{{"normal", ""}, {"dpo", comparesPairs}, {"kto", comparesPairs}, {"rm", scoresAnswers}, {"reinforce", samplesFirst}}, Source: neoxArgs},
	} {
		hyphenated := k
		hyphenated.Path, hyphenated.Default = strings.ReplaceAll(k.Path, "_", "-"), ""
		keys = append(keys, k)
		if hyphenated.Path != k.Path {
			keys = append(keys, hyphenated)
		}
	}
	return keys
}

// gptNeoXTokens are the vocabulary sizes of published tokenizer files.
var gptNeoXTokens = map[string]float64{"20B_tokenizer.json": 50277, "gpt2-vocab.json": 50257}

// gptNeoXModel returns the config.json of transformers' GPT-NeoX with the sizes of a config. The vocabulary is the
// tokenizer's, rounded up (megatron/tokenizer/tokenizer.py).
func gptNeoXModel(sizes map[string]any) (config map[string]any, why string) {
	s := &described{values: sizes}
	tokens, known := gptNeoXTokens[path.Base(s.word("vocab_file", "none"))]
	if kind := s.word("tokenizer_type", "GPT2BPETokenizer"); !known && kind == "GPT2BPETokenizer" {
		tokens, known = gptNeoXTokens["gpt2-vocab.json"], true
	}
	width := s.number("hidden_size", 0)
	switch {
	case s.word("norm", "layernorm") != "layernorm" || s.word("activation", "gelu") != "gelu" || s.on("gpt_j_tied", false) || s.on("use_qk_layernorm", false):
		return nil, "has norms or an MLP that GPT-NeoX in transformers does not have"
	case s.word("pos_emb", "learned") != "rotary":
		return nil, "has positions (pos_emb) that GPT-NeoX in transformers does not have"
	case slices.Contains([]bool{s.on("use_bias_in_norms", true), s.on("use_bias_in_attn_linear", true), s.on("use_bias_in_mlp", true)}, false) || sizes["num_kv_heads"] != nil:
		return nil, "has layers without biases, or num_kv_heads, which GPT-NeoX in transformers does not have"
	case !known:
		return nil, "has the vocabulary of a tokenizer (vocab_file) that snug does not know"
	}
	multiple := s.number("make_vocab_size_divisible_by", 128)
	config = map[string]any{
		"model_type": "gpt_neox", "hidden_size": width, "num_hidden_layers": s.number("num_layers", 0), "num_attention_heads": s.number("num_attention_heads", 0),
		"intermediate_size": s.number("intermediate_size", 4*width), "vocab_size": math.Ceil(tokens/multiple) * multiple,
		"max_position_embeddings": s.number("max_position_embeddings", s.number("seq_length", 2048)), "rotary_pct": s.number("rotary_pct", 1),
		"use_parallel_residual": s.on("gpt_j_residual", false), "tie_word_embeddings": !s.on("no_weight_tying", false),
		"hidden_dropout": s.number("hidden_dropout", 0), "attention_dropout": s.number("attention_dropout", 0),
	}
	if s.wrong != "" {
		return nil, "has a value of the wrong kind (" + s.wrong + ")"
	}
	return config, ""
}
