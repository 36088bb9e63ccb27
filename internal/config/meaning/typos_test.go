// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"

	"snug/internal/config/systems"
)

// TestNearestKey checks that typos are distinguished from keys of other programs.
func TestNearestKey(t *testing.T) {
	var names []string
	for _, s := range systems.All() {
		if s.Name != "hf" {
			continue
		}
		for _, k := range s.Keys().All {
			names = append(names, k.Path)
		}
	}
	for got, want := range map[string]string{
		"per_device_train_batchsize":      "per_device_train_batch_size",
		"per_device_train_batch_sizes":    "per_device_train_batch_size",
		"per_devise_train_batch_size":     "per_device_train_batch_size",
		"gradient_checkpoint":             "gradient_checkpointing",
		"gradient_acumulation_steps":      "gradient_accumulation_steps",
		"max_seq_len":                     "max_seq_length",
		"optm":                            "optim",
		"optim":                           "",
		"optim_args":                      "",
		"tf32":                            "", // TrainingArguments have it
		"fp8":                             "",
		"bf16_full_eval":                  "",
		"per_device_eval_batch_size":      "",
		"eval_accumulation_steps":         "",
		"gradient_checkpointing_kwargs":   "",
		"learning_rate":                   "",
		"dataloader_prefetch_factor":      "",
		"dataloader_persistent_workers":   "",
		"include_num_input_tokens_seen":   "",
		"torch_compile_backend":           "",
		"":                                "",
		"per_device_train_batch_size_max": "",
	} {
		if near := nearestKey(got, names); near != want {
			t.Errorf("%q is taken for %q, want %q", got, near, want)
		}
	}
}
