// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"snug/internal/config/projects"
)

// runIn runs a command line in a folder and returns its exit code and standard error.
func runIn(dir string, args ...string) (int, string) {
	var out, err bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" }, Open: func(name string) (io.ReadCloser, error) { return os.Open(name) }}
	code := Run(context.Background(), env, append(args, "--dir", dir))
	return code, err.String()
}

// After optimize has written its plan into a project, the project is estimated to fit. Allocator options are part of a
// plan only if a file can contain them.
func TestWrittenPlansFit(t *testing.T) {
	for _, c := range []struct{ name, card string }{
		{"hf_liger_layers", "RTX-3080"}, {"trl_saved", "RTX-3080"}, {"starts_script", "RTX-3060"}, {"shell_trl_lora", "T4"}, {"axolotl_linear", "RTX-4090"},
	} {
		a, err := txtar.ParseFile(filepath.Join("..", "config", "testdata", "adapters", c.name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, f := range a.Files {
			if filepath.Ext(f.Name) != "" {
				write(t, filepath.Join(dir, f.Name), string(f.Data))
			}
		}
		seq := []string{"--gpu", c.card, "--json"}
		if !bytes.Contains(txtar.Format(a), []byte("seq = ")) {
			seq = append(seq, "--seq", "512")
		}
		if code, text := runIn(dir, append([]string{"optimize", "--apply"}, seq...)...); code != 0 {
			t.Errorf("%s: optimize exits %d: %s", c.name, code, text)
			continue
		}
		if code, text := runIn(dir, append([]string{"estimate"}, seq...)...); code != 0 {
			t.Errorf("%s does not fit %s as it was written: exit %d: %s", c.name, c.card, code, text)
		}
	}
}

// The allocator's options are written into the script that starts the run, below its directives, and are read there.
func TestAllocatorIsExported(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "train.sh"), "#!/bin/bash\n#SBATCH --gres=gpu:1\n\nset -e\npython run_clm.py --model_name_or_path gpt2 "+
		"--per_device_train_batch_size 8 --gradient_accumulation_steps 4 --block_size 1024 --bf16\n")
	if code, text := runIn(dir, "optimize", "--apply", "--gpu", "RTX-4090"); code != 0 {
		t.Fatalf("exit %d: %s", code, text)
	}
	got, err := os.ReadFile(filepath.Join(dir, "train.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "#SBATCH --gres=gpu:1\n\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nset -e\n"; !strings.Contains(string(got), want) {
		t.Errorf("%s", got)
	}
}

// The given command is the run. Another script in the folder has no influence on it, unless it is imported.
func TestCommandIsTheRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "train.py"), "from transformers import TrainingArguments\n"+
		"args = TrainingArguments(output_dir='out', per_device_train_batch_size=8, fp16=True)\n")
	write(t, filepath.Join(dir, "gan.py"), "import torch\nloss.backward()\n")
	write(t, filepath.Join(dir, "main.py"), "from train import args\n")
	for command, nothing := range map[string]bool{"python3 gan.py": true, "python train.py": false, "python main.py": false, "sh run.sh": false} {
		o := optimizeOptions{projectFlags: projectFlags{folder: dir}}
		o.started = o.startedScript(strings.Fields(command))
		if _, err := o.opened(Env{}); errors.Is(err, projects.ErrNothing) != nothing {
			t.Errorf("%s: %v", command, err)
		}
	}
}
