// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"
)

// TestTotalBatch checks the accumulation of a program that divides the samples of a step by those of a forward.
func TestTotalBatch(t *testing.T) {
	const (
		divides  = "def train(base_model: str = '', batch_size: int = 128, micro_batch_size: int = 4):\n    steps = batch_size // micro_batch_size\n"
		overGPUs = "    steps = steps // world_size\n"
		rest     = "    args = TrainingArguments(per_device_train_batch_size=micro_batch_size, gradient_accumulation_steps=steps, output_dir='out')\n    Trainer(model=AutoModelForCausalLM.from_pretrained(base_model), args=args).train()\nfire.Fire(train)\n"
		starts   = "torchrun --nproc_per_node=2 train.py --base_model gpt2 --cutoff_len 64 --lora_r 16 --lora_target_modules '[c_attn,c_proj]' --micro_batch_size 8 "
	)
	for name, x := range map[string]struct {
		program, flags string
		want           float64
	}{
		"over the GPUs":    {divides + overGPUs + rest, "--batch_size 64", 4},
		"of each GPU":      {divides + rest, "--batch_size 64", 8},
		"the default":      {divides + rest, "", 16},
		"set by a flag":    {divides + rest, "--batch_size 64 --gradient_accumulation_steps 2", 2},
		"divides nothing":  {"def train(base_model: str = '', batch_size: int = 128, micro_batch_size: int = 4):\n    steps = 1\n" + rest, "--batch_size 64", 1},
		"less than a step": {divides + rest, "--batch_size 4", 1},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"train.py": {Data: []byte("import fire\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig\n" + x.program)},
				"run.sh":   {Data: []byte(starts + x.flags + "\n")},
			}
			found, err := projects.Find(files, ".", "run.sh")
			if err != nil {
				t.Fatal(err)
			}
			r := New(found)
			if got := r.Fields()["accumulation"]; got != x.want {
				t.Errorf("accumulation %v, want %v", got, x.want)
			}
			if names, _ := r.Value("lora.targets").([]string); len(names) != 2 || names[0] != "c_attn" || names[1] != "c_proj" {
				t.Errorf("layers %q", names)
			}
		})
	}
}
