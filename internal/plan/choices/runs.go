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
	arch          string // of torchvision, or
	modelType     string // of transformers, with
	config        map[string]any
	head          string
	seq           int
	precision     string
	effective     int
	gib           int
	optimizers    []string // the first is today's
	checkpointing []bool
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

// runs are runs of several families, sizes and precisions, each under a cap at which there is something to
// decide.
var runs = []run{
	{name: "gpt2", modelType: "gpt2", config: map[string]any{}, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 64, gib: 16, optimizers: adamw, checkpointing: either},
	{name: "llama-160m", modelType: "llama", config: llama160m, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 64, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "tinyllama-1.1b", modelType: "llama", config: tinyllama, head: "causal-lm", seq: 1024, precision: "bf16", effective: 32, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "bert-embed", modelType: "bert", config: map[string]any{}, head: "encoder", seq: 256, precision: "amp-fp16", effective: 256, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "qwen2.5-0.5b", modelType: "qwen2", config: qwen05b, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 32, gib: 24, optimizers: adamw, checkpointing: either},
	{name: "resnet50", arch: "resnet50", precision: "amp-bf16", effective: 512, gib: 16, optimizers: []string{"sgd-momentum"}, checkpointing: []bool{false}},
	{name: "gpt2-8g", modelType: "gpt2", config: map[string]any{}, head: "causal-lm", seq: 1024, precision: "amp-bf16", effective: 32, gib: 8, optimizers: adamw, checkpointing: either},
}

// setup returns the run as it is today: one sample at a time.
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
		fields["seq"] = float64(r.seq)
	}
	fields["model"] = model
	return setup.Decode(fields, setup.Source{})
}

// The words that the harness has for settings.
var (
	heads      = map[string]string{"causal-lm": "causal", "encoder": "plain", "masked-lm": "masked"}
	optimizers = map[string]string{"adamw": "adamw", "adamw-fused": "adamw_fused", "sgd-momentum": "sgdm"}
)

// harness returns a setup as testdata/measured/harness.py takes it.
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
