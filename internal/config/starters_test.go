// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"
)

// TestStarters checks that a program that takes its settings from flags is read with the flags of the script that
// starts it, and that the scripts are listed if there are several.
func TestStarters(t *testing.T) {
	const (
		program = "import transformers\nparser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))\n"
		start   = "python src/train.py --model_name_or_path gpt2 --per_device_train_batch_size "
	)
	one := map[string]string{"src/train.py": program, "scripts/a.sh": start + "3\n", "scripts/eval.sh": "python src/eval.py --per_device_eval_batch_size 2\n"}
	p, err := Open(files(one), ".", "src/train.py")
	if err != nil {
		t.Fatal(err)
	}
	fields := p.Fields()
	note := "src/train.py: the program takes its settings from flags; the flags in scripts/a.sh are used"
	if fields["batch"] != 3.0 || !slices.Contains(p.Warnings(fields), note) {
		t.Errorf("batch %v, notes %q", fields["batch"], p.Warnings(fields))
	}
	for name, x := range map[string]struct{ script, want string }{
		"two":     {start + "4\n", "--config-path scripts/a.sh (or scripts/b.sh), or give them"},
		"another": {"python src/other.py --per_device_train_batch_size 4\n", ""},
	} {
		two := map[string]string{"src/train.py": program, "scripts/a.sh": start + "3\n", "scripts/b.sh": x.script}
		switch _, err := Open(files(two), ".", "src/train.py"); {
		case x.want == "" && err != nil, x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(files(map[string]string{"src/train.py": program}), ".", "src/train.py"); err == nil || !strings.Contains(err.Error(), "--config-path run.sh, or give them") {
		t.Errorf("without scripts: %v", err)
	}
}

// TestKnownProgram checks that a system keeps its defaults if its own program is in the folder.
func TestKnownProgram(t *testing.T) {
	p, err := Open(files(map[string]string{
		"step1/main.py":        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lora_dim', default=0)\n",
		"step1/scripts/run.sh": "deepspeed main.py --data_split 2,4,4 --model_name_or_path facebook/opt-125m --lora_dim 8 --per_device_train_batch_size 2\n",
	}), ".", "step1/scripts/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	lora, _ := p.Fields()["lora"].(map[string]any)
	if lora["targets"] == nil || len(p.Missing()) > 0 {
		t.Errorf("adapters are %v; missing: %v", lora, p.Missing())
	}
}
