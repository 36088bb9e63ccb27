// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"snug/internal/files"
)

// hostile lists the files that snug opens by itself, each with a command that opens it. Whatever is in the file's
// place, the command must end, and must report it unless it treats the file as missing.
var hostile = []struct {
	file, command string
	says          bool
}{
	{"config.yaml", "estimate --dir . --model gpt2 --seq 64", false},
	{"snug.yaml", "estimate --dir . --model gpt2 --seq 64", true},
	{"memory.snug", "estimate --dir .", false},
	{"memory.snug", "optimize --gpu RTX-4090", false},
	{"conf/data/text.yaml", "estimate --dir . --config-path conf/config.yaml --model gpt2 --seq 64", true},
	{"ds.json", "estimate --dir . --config-path run.yaml --model gpt2 --seq 64", true},
	{"model/config.json", "estimate --config model --batch 4 --seq 64", true},
	{"model/config.json", "estimate --setup run.json", true},
	{"model/model.safetensors", "estimate --config model --batch 4 --seq 64", false},
	{"model/model.safetensors.index.json", "estimate --config model --batch 4 --seq 64", false},
	{"hub/models--a--b/refs/main", "estimate --model a/b --batch 4 --seq 64", false},
	{"outputs/checkpoint-10/trainer_state.json", "apply --set batch=2", false},
	{".snug/lock", "apply --set batch=2 --yes", true},
	{".snug/journal/000001.done", "revert --list", true},
	{".snug/journal/000001.begun", "apply --set batch=2 --yes", true},
	{".snug/journal/revert", "revert", true},
}

// whole is a project with only regular files.
var whole = map[string]string{
	"plain.yaml":                "batch_size: 4\nlr: 0.1\n",
	"conf/config.yaml":          "defaults:\n  - data: text\ntrainer:\n  accumulate_grad_batches: 2\n",
	"run.yaml":                  "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nlearning_rate: 1e-4\noutput_dir: out\ndeepspeed: ds.json\n",
	"run.json":                  `{"model": {"config": "model/config.json"}, "batch": 4, "seq": 64}`,
	"model/config.json":         `{"model_type": "gpt2", "n_layer": 2}`,
	"model/model.safetensors":   "short",
	"outputs/checkpoint-10/x.t": "",
	".snug/journal/x":           "",
	"hub/models--a--b/x":        "",
}

func TestWhatIsNoFile(t *testing.T) {
	for _, c := range hostile {
		for _, kind := range []string{"pipe", "device"} { // the kind that needs no memory comes first
			dir := t.TempDir()
			t.Chdir(dir)
			for name, text := range whole {
				placeFile(t, name, text)
			}
			placeFile(t, c.file, "")
			if err := os.Remove(c.file); err != nil {
				t.Fatal(err)
			}
			if err := stand(c.file, kind); err != nil {
				t.Fatal(err)
			}
			ended := make(chan string, 1)
			go func() { ended <- ran(strings.Fields(c.command)) }()
			select {
			case said := <-ended:
				if c.says && !oneLineAbout(said, c.file) {
					t.Errorf("snug %s, with a %s for %s, prints\n%s", c.command, kind, c.file, said)
				}
			case <-time.After(time.Minute): // it should take a hundredth of a second
				t.Fatalf("snug %s waits for a %s in place of %s", c.command, kind, c.file)
			}
		}
	}
}

// stand replaces a file with something that is not a regular file.
func stand(name, kind string) error {
	if kind == "pipe" {
		return syscall.Mkfifo(name, 0o600)
	}
	return os.Symlink("/dev/zero", name)
}

func oneLineAbout(said, file string) bool {
	return strings.Count(said, "\n") == 1 && strings.HasPrefix(said, "snug: ") && strings.Contains(said, file+": it is a ")
}

func placeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ran returns the standard error of a command.
func ran(args []string) string {
	var out, errors strings.Builder
	env := map[string]string{"HF_HUB_CACHE": "hub", "SNUG_STORE": "measured.db"}
	Run(context.Background(), Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errors, Getenv: func(name string) string { return env[name] },
		Environ: func() []string { return nil },
		Open:    func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) },
		Find:    func(path string) (io.ReadCloser, error) { return files.Open(path) },
	}, args)
	return errors.String()
}
