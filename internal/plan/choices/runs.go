// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"snug/internal/setup"
	"snug/internal/units"
)

// run is one training run under a cap.
type run struct {
	name          string
	arch          string // torchvision model; "" for a transformers model
	modelType     string // transformers model type, built from the config below
	config        map[string]any
	head          string
	seq           int
	precision     string
	effective     int
	gib           int
	optimizers    []string // the first is the current one
	checkpointing []bool
	evaluates     bool // whether four batches without gradients run between steps
}

var (
	adamw  = []string{"adamw", "adamw-fused"}
	either = []bool{false, true}

	llama160m = map[string]any{
		"vocab_size": 32000.0, "hidden_size": 768.0, "intermediate_size": 3072.0, "num_hidden_layers": 12.0,
		"num_attention_heads": 12.0, "num_key_value_heads": 12.0,
	}
	tinyllama = map[string]any{
		"vocab_size": 32000.0, "hidden_size": 2048.0, "intermediate_size": 5632.0, "num_hidden_layers": 22.0,
		"num_attention_heads": 32.0, "num_key_value_heads": 4.0,
	}
	qwen05b = map[string]any{
		"vocab_size": 151936.0, "hidden_size": 896.0, "intermediate_size": 4864.0, "num_hidden_layers": 24.0,
		"num_attention_heads": 14.0, "num_key_value_heads": 2.0, "tie_word_embeddings": true,
	}
)

// The configs of two published models.
var (
	smollm360m = map[string]any{
		"vocab_size": 49152.0, "hidden_size": 960.0, "intermediate_size": 2560.0, "num_hidden_layers": 32.0,
		"num_attention_heads": 15.0, "num_key_value_heads": 5.0, "tie_word_embeddings": true,
	}
	pythia410m = map[string]any{
		"vocab_size": 50304.0, "hidden_size": 1024.0, "intermediate_size": 4096.0, "num_hidden_layers": 24.0,
		"num_attention_heads": 16.0, "use_parallel_residual": true, "rotary_pct": 0.25, "max_position_embeddings": 2048.0,
	}
)

// runs are runs of several families, sizes and precisions, each with a cap that makes the choice nontrivial.
var runs = []run{
	{name: "gpt2", modelType: "gpt2", config: map[string]any{}, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 64, gib: 16, optimizers: adamw, checkpointing: either},
	{name: "llama-160m", modelType: "llama", config: llama160m, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 64, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "tinyllama-1.1b", modelType: "llama", config: tinyllama, head: "causal-lm", seq: 1024, precision: "bf16", effective: 32, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "bert-embed", modelType: "bert", config: map[string]any{}, head: "encoder", seq: 256, precision: "amp-fp16", effective: 256, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "qwen2.5-0.5b", modelType: "qwen2", config: qwen05b, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 32, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "resnet50", arch: "resnet50", precision: "amp-bf16", effective: 512, gib: 16, optimizers: []string{"sgd-momentum"}, checkpointing: []bool{false}},
	{name: "gpt2-8g", modelType: "gpt2", config: map[string]any{}, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 32, gib: 8, optimizers: adamw, checkpointing: either},
}

// second are further runs, with an evaluation between steps.
var second = []run{
	{name: "gpt2-medium", modelType: "gpt2", config: map[string]any{"n_layer": 24.0, "n_embd": 1024.0, "n_head": 16.0}, head: "causal-lm", seq: 512, precision: "amp-bf16", effective: 64, gib: 20, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "bert-large-mlm", modelType: "bert", config: map[string]any{"hidden_size": 1024.0, "num_hidden_layers": 24.0, "num_attention_heads": 16.0, "intermediate_size": 4096.0}, head: "masked-lm", seq: 256, precision: "amp-bf16", effective: 128, gib: 16, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "roberta", modelType: "roberta", config: map[string]any{}, head: "encoder", seq: 384, precision: "amp-bf16", effective: 256, gib: 12, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "distilbert", modelType: "distilbert", config: map[string]any{}, head: "masked-lm", seq: 128, precision: "amp-fp16", effective: 256, gib: 10, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "smollm2-360m", modelType: "llama", config: smollm360m, head: "causal-lm", seq: 2048, precision: "bf16", effective: 32, gib: 24, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "pythia-410m", modelType: "gpt_neox", config: pythia410m, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 48, gib: 24, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "opt-350m-like", modelType: "opt", config: map[string]any{"hidden_size": 1024.0, "num_hidden_layers": 24.0, "num_attention_heads": 16.0, "ffn_dim": 4096.0, "word_embed_proj_dim": 1024.0}, head: "causal-lm", seq: 512, precision: "bf16", effective: 64, gib: 16, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "vit", modelType: "vit", config: map[string]any{"num_labels": 1000.0}, head: "image-classification", precision: "amp-bf16", effective: 256, gib: 12, optimizers: adamw, checkpointing: either, evaluates: true},
	{name: "resnet101", arch: "resnet101", precision: "amp-bf16", effective: 256, gib: 12, optimizers: []string{"sgd-momentum"}, checkpointing: []bool{false}, evaluates: true},
	{name: "convnext", arch: "convnext_tiny", precision: "amp-bf16", effective: 192, gib: 14, optimizers: adamw, checkpointing: []bool{false}, evaluates: true},
}

// setup returns the current run: one sample at a time.
func (r run) setup() (*setup.Setup, error) {
	model := map[string]any{"name": "torchvision/" + r.arch}
	fields := map[string]any{
		"id": r.name, "batch": 1.0, "accumulation": float64(r.effective), "precision": r.precision,
		"optimizer": r.optimizers[0], "limit": float64(r.gib * units.GiB),
	}
	if r.arch == "" {
		config := map[string]any{"model_type": r.modelType}
		for k, v := range r.config {
			config[k] = v
		}
		model = map[string]any{"config": config, "head": r.head}
		if r.seq > 0 {
			fields["seq"] = float64(r.seq)
		}
	}
	fields["model"] = model
	if r.evaluates {
		fields["evaluation"] = map[string]any{"batches": float64(evaluated)}
	}
	return setup.Decode(fields, setup.Source{})
}

// evaluated is the number of batches in an evaluation.
const evaluated = 4

// The names that the harness uses for settings.
var (
	heads      = map[string]string{"causal-lm": "causal", "encoder": "plain", "masked-lm": "masked", "image-classification": "image"}
	optimizers = map[string]string{"adamw": "adamw", "adamw-fused": "adamw_fused", "sgd-momentum": "sgdm"}
)

// harness returns a setup in the form that testdata/measured/harness.py reads.
func (r run) harness(s *setup.Setup) map[string]any {
	c := map[string]any{
		"id":    fmt.Sprintf("%s-b%d-acc%d-%s%s%s", r.name, s.Batch, s.Accumulation, s.Optimizer, flag(s.Checkpointing, "-ckpt"), flag(s.Allocator != "", "-expandable")),
		"batch": s.Batch, "accum": s.Accumulation, "precision": s.Precision, "optimizer": optimizers[s.Optimizer],
		"steps": 8, "capacity_gib": r.gib,
	}
	if r.arch != "" {
		c["model"], c["arch"] = "torchvision", r.arch
	} else {
		c["model"], c["model_type"], c["head"], c["config"], c["seq"] = "hf", r.modelType, heads[r.head], r.config, r.seq
	}
	if r.seq == 0 {
		delete(c, "seq")
	}
	if r.evaluates {
		c["evaluate"] = evaluated
	}
	if s.Checkpointing {
		c["checkpointing"] = true
	}
	if strings.Contains(s.Allocator, "expandable") {
		c["alloc_conf"] = s.Allocator
	}
	return c
}

func flag(is bool, text string) string {
	if is {
		return text
	}
	return ""
}
