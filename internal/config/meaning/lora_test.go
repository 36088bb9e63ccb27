// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestLoRAOf checks what turning LoRA on would mean for runs without it.
func TestLoRAOf(t *testing.T) {
	for name, x := range map[string]struct {
		file, text string
		want       LoRA
		warnings   int
	}{
		"trl":            {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\n", LoRA{PEFT: true, Precision: "amp-bf16"}, 0},
		"trl, bf16":      {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\ndtype: bfloat16\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"trl, no amp":    {"sft.yaml", "per_device_train_batch_size: 2\nmax_length: 64\ndtype: float16\nbf16: false\n", LoRA{PEFT: true, Weights: "fp16", Precision: "fp16"}, 0},
		"axolotl":        {"a.yml", "base_model: x\nmicro_batch_size: 2\nbf16: true\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 1},
		"axolotl, flash": {"a.yml", "base_model: x\nmicro_batch_size: 2\nbf16: true\nflash_attention: true\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"axolotl, lora":  {"a.yml", "base_model: x\nmicro_batch_size: 2\nadapter: lora\nlora_r: 8\n", LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 1},
		"axolotl, own": {"a.yml", "base_model: x\nmicro_batch_size: 2\nadapter: lora\nlora_r: 8\nlora_mlp_kernel: false\n",
			LoRA{PEFT: true, Weights: "bf16", Precision: "amp-bf16"}, 0},
		"llama-factory": {"l.yaml", "model_name_or_path: x\nfinetuning_type: full\nper_device_train_batch_size: 2\nfp16: true\n", LoRA{PEFT: true, Weights: "saved", Precision: "amp-fp16"}, 0},
		"made in code": {"train.py", "model = get_peft_model(model, LoraConfig(r=8))\nargs = TrainingArguments(per_device_train_batch_size=2)\n",
			LoRA{PEFT: true, Weights: "saved"}, 0}, // the script is followed, including its adapters
		"in a comment": {"train.py", "# model = get_peft_model(model)\nargs = TrainingArguments(per_device_train_batch_size=2)\n",
			LoRA{PEFT: true, Weights: "saved"}, 0},
		"not spread":     {"a.yaml", "per_device_train_batch_size: 2\nfsdp: full_shard\n", LoRA{PEFT: true, Weights: "saved"}, 1},
		"spread by none": {"a.yaml", "per_device_train_batch_size: 2\nfsdp: ''\n", LoRA{PEFT: true, Weights: "saved"}, 0},
		"nanogpt":        {"train.py", "block_size = 64\nbatch_size = 4\ngradient_accumulation_steps = 2\ndtype = 'bfloat16'\n", LoRA{Precision: "amp-bf16"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}})
			if diff := cmp.Diff(x.want, p.LoRA()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got := p.Warnings(p.Fields()); len(got) != x.warnings {
				t.Errorf("warnings %q", got)
			}
		})
	}
}
