// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
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

// TestBothNamed checks that no note says that defaults are counted if the script that starts the program is named too.
func TestBothNamed(t *testing.T) {
	const program = "from dataclasses import dataclass\nimport transformers\n@dataclass\nclass ModelArguments:\n    model_name_or_path: str = 'facebook/opt-125m'\n" +
		"parser = transformers.HfArgumentParser((ModelArguments, transformers.TrainingArguments))\n"
	p, err := Open(files(map[string]string{
		"train.py": program, "run.sh": "python train.py --model_name_or_path gpt2 --per_device_train_batch_size 3\n",
	}), ".", "run.sh", "train.py")
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(p.Warnings(p.Fields()), "\n")
	if p.Fields()["batch"] != 3.0 || strings.Contains(notes, "are counted with their defaults") {
		t.Errorf("batch %v, notes %s", p.Fields()["batch"], notes)
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

// TestDocumentedCommand checks that a program that no script starts is read with the first command in its docstring, which
// is never changed.
func TestDocumentedCommand(t *testing.T) {
	const program = `# a license
"""
Usage:

# Full training:
CUDA_VISIBLE_DEVICES=0 python examples/train.py \
    --model_name_or_path gpt2 \
    --per_device_train_batch_size 3
# LoRA:
python examples/train.py --model_name_or_path gpt2 --per_device_train_batch_size 5 --use_peft
"""
import transformers
parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
`
	p, err := Open(files(map[string]string{"src/train.py": program}), ".", "src/train.py")
	if err != nil {
		t.Fatal(err)
	}
	fields := p.Fields()
	note := "src/train.py: the program takes its settings from flags; the first of 2 commands in its documentation (src/train.py:6) is used; for another, name the shell script that starts it: --config-path run.sh"
	if fields["batch"] != 3.0 || !slices.Contains(p.Warnings(fields), note) {
		t.Errorf("batch %v, notes %q", fields["batch"], p.Warnings(fields))
	}
	if _, err := p.Change(setup.Values{{Setting: "batch", Value: 1}}); err == nil || !strings.Contains(err.Error(), "src/train.py:6: the settings are in documentation") {
		t.Errorf("planning a change: %v", err)
	}
	for name, text := range map[string]string{
		"another program": strings.ReplaceAll(program, "examples/train.py", "examples/eval.py"),
		"another tuner":   strings.Replace(program, "import transformers", "from peft import (\n    LoraConfig,\n    VeraConfig,\n)\nimport transformers", 1),
		"no flags":        strings.NewReplacer("--", "", "\\\n", "").Replace(program),
	} {
		if _, err := Open(files(map[string]string{"src/train.py": text}), ".", "src/train.py"); err == nil || !strings.Contains(err.Error(), "name the shell script that starts it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	readme := "# Training\n```bash\nexport SIZE=7\npython other.py --per_device_train_batch_size 1\n\npython train.py --model_name_or_path gpt2 \\\n  --per_device_train_batch_size $SIZE\n```\n"
	p, err = Open(files(map[string]string{"src/train.py": program[strings.Index(program, "import"):], "src/README.md": readme}), ".", "src/train.py")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Documented; p.Fields()["batch"] != 7.0 || got.File != "src/README.md" || got.Line != 6 || got.Others != 0 {
		t.Errorf("batch %v from %+v", p.Fields()["batch"], got)
	}
}
