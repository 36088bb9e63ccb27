// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// othersFlags maps flags of other tools, and flags that people guess, to snug's equivalents.
var othersFlags = map[string]string{
	"max-length": "--seq", "max-seq-length": "--seq", "max-seq-len": "--seq", "context": "--seq", "context-length": "--seq",
	"block-size": "--seq", "cutoff-len": "--seq", "tokens": "--seq",
	"micro-batch": "--batch", "micro-batch-size": "--batch", "per-device-train-batch-size": "--batch", "bs": "--batch",
	"gradient-accumulation-steps": "--accumulation", "gradient-accumulation": "--accumulation",
	"accumulate-grad-batches": "--accumulation", "grad-accum": "--accumulation", "accumulation-steps": "--accumulation",
	"effective-batch": "--target-effective-batch", "global-batch": "--target-effective-batch",
	"global-batch-size": "--target-effective-batch", "total-batch-size": "--target-effective-batch",
	"card": "--gpu", "gpu-name": "--gpu",
	"vram": "--gpu-memory", "memory": "--gpu-memory", "gpu-mem": "--gpu-memory",
	"num-gpus": "--gpus", "world-size": "--gpus", "nproc-per-node": "--gpus", "ddp": "--gpus",
	"fsdp": "--dist fsdp2 --gpus N", "deepspeed": "--dist zero2 --gpus N (or zero1, zero3)", "zero": "--dist zero2 --gpus N (or zero1, zero3)",
	"gradient-checkpointing": "--checkpointing", "activation-checkpointing": "--checkpointing",
	"bf16": "--precision amp-bf16", "fp16": "--precision amp-fp16", "amp": "--precision amp-bf16",
	"fp32": "--precision fp32", "dtype": "--precision", "torch-dtype": "--precision", "mixed-precision": "--precision",
	"lora": "--lora-rank N", "lora-r": "--lora-rank", "peft": "--lora-rank N",
	"qlora": "--load-in-4bit --lora-rank N", "4bit": "--load-in-4bit --lora-rank N", "8bit": "--load-in-8bit",
	"flash-attention": "--attention flash", "flash-attn": "--attention flash", "attn-implementation": "--attention",
	"model-name": "--model", "model-name-or-path": "--model", "base-model": "--model",
	"task": "--head", "num-labels": "--head sequence-classification", "optim": "--optimizer",
	"dpo": "--loop trl-dpo", "kto": "--loop trl-kto", "orpo": "--loop trl-orpo", "cpo": "--loop trl-cpo",
	"grpo": "--loop trl-grpo", "reward": "--loop trl-reward", "sft": "--loop trl",
	"port": "--address 127.0.0.1:PORT", "host": "--address HOST:PORT",
	"output": "--json", "format": "--json", "brief": "--short", "verbose": "--explain",
}

// othersCommands maps words that people try to the commands that they probably mean.
var othersCommands = map[string]string{
	"undo": "revert", "rollback": "revert", "restore": "revert",
	"oom": "diagnose", "debug": "diagnose", "why": "diagnose", "doctor": "diagnose", "explain": "diagnose",
	"fit": "estimate", "fits": "estimate", "check": "estimate", "memory": "estimate",
	"batch": "max-batch", "plan": "optimize", "tune": "optimize", "search": "optimize",
	"set": "apply", "write": "apply", "cards": "gpus", "card": "gpus", "list": "models", "record": "profile",
}

// hasFlags reports whether a command has the flags of a suggestion.
func hasFlags(cmd *cobra.Command, suggestion string) bool {
	for word := range strings.FieldsSeq(suggestion) {
		if name, is := strings.CutPrefix(word, "--"); is && cmd.Flags().Lookup(name) == nil {
			return false
		}
	}
	return true
}
