// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"
)

// Messages show a setting as it would be written in the file.
func TestSpell(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, setting string
		value               any
		want                string
	}{
		"JSON":          {"a.json", `{"per_device_train_batch_size": 2}`, "weights", "fp32", `"dtype": "float32"`},
		"YAML":          {"a.yaml", "per_device_train_batch_size: 2\n", "weights", "fp32", "dtype: float32"},
		"a switch":      {"a.yaml", "per_device_train_batch_size: 2\n", "precision", "amp-bf16", "bf16: true"},
		"another name":  {"a.yaml", "per_device_train_batch_size: 2\ntorch_dtype: float16\n", "weights", "fp32", "torch_dtype: float32"},
		"shell":         {"a.sh", "python run_clm.py --per_device_train_batch_size 2\n", "weights", "fp32", "--dtype float32"},
		"shell, there":  {"a.sh", "python run_clm.py --per_device_train_batch_size 2 --torch_dtype float16\n", "weights", "fp32", "--torch_dtype float32"},
		"shell, switch": {"a.sh", "python run_clm.py --per_device_train_batch_size 2\n", "precision", "amp-bf16", "--bf16"},
		"a program":     {"a.sh", "python qlora.py --per_device_train_batch_size 2\n", "checkpointing", true, "--gradient_checkpointing"},
		"yes or no":     {"a.sh", "python run_clm.py --per_device_train_batch_size 2\n", "checkpointing", true, "--gradient_checkpointing"},
		"Python":        {"a.py", "args = TrainingArguments(per_device_train_batch_size=2)\n", "precision", "amp-bf16", "bf16=True"},
		"Python, text":  {"a.py", "args = TrainingArguments(per_device_train_batch_size=2)\n", "weights", "fp32", `dtype="float32"`},
		"no key":        {"a.yml", "base_model: x\nmicro_batch_size: 2\n", "weights", "fp32", ""},
		"no system":     {"a.yaml", "batch_size: 2\n", "weights", "fp32", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, fstest.MapFS{c.file: {Data: []byte(c.text)}})
			if got := p.Spell(c.setting, c.value); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestSpellFlagsOfTheProgram checks that no flag is suggested that the program does not declare: advice to add --dtype
// to a program of one's own with --bsz and --half does not help.
func TestSpellFlagsOfTheProgram(t *testing.T) {
	const program = "import argparse\nfrom transformers import TrainingArguments\np = argparse.ArgumentParser()\n" +
		"p.add_argument(\"--per_device_train_batch_size\", type=int)\np.add_argument(\"--bf16\", action=\"store_true\")\n"
	p := opened(t, fstest.MapFS{
		"run.sh":      {Data: []byte("python finetune.py --per_device_train_batch_size 2\n")},
		"finetune.py": {Data: []byte(program)},
	})
	if got := p.Suggest("weights", "fp32"); got != "" {
		t.Errorf("fp32 weights: %q, which the program refuses", got)
	}
	if got := p.Suggest("precision", "amp-bf16"); got != "--bf16" {
		t.Errorf("amp-bf16: %q", got)
	}
}
