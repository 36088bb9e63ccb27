// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"snug/internal/gpu"
)

// TestPagesRun runs the commands in README.md and docs, in a folder with the files that they name. Every command
// must exit with 0 or 1. Commands that start a training command are only parsed.
func TestPagesRun(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	var lines []string
	for _, path := range append(pages, "../../README.md", "../../examples/README.md") {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, commandsIn(string(page))...)
	}
	lines = append(lines, commandsOfSeeds(t)...)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) < 60 {
		t.Fatalf("only %d commands were found", len(lines))
	}
	script, project := newcomersFolder(t, "conf/config.yaml"), newcomersFolder(t, "train.py")
	for _, line := range lines {
		t.Chdir(project)
		if strings.Contains(line, "--loop") || strings.Contains(line, "-- python train.py") && !strings.Contains(line, "--profile") || strings.HasPrefix(line, "lint") {
			t.Chdir(script)
		}
		runShown(t, line)
	}
}

// commandsOfSeeds returns the commands in docs/seeds, except those shown with their output, which TestRecordedPages
// runs.
func commandsOfSeeds(t *testing.T) (out []string) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/seeds/*.md")
	if err != nil || len(pages) != 5 {
		t.Fatalf("%d pages of seeds: %v", len(pages), err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, commandsIn(withOutput.ReplaceAllString(string(page), ""))...)
	}
	return out
}

var withOutput = regexp.MustCompile("(?s)```\n\\$ snug .*?\n```\n")

var inline = regexp.MustCompile("`(snug [^`]+)`")

// commandsIn returns the command lines on a page, without snug, both in code blocks and within sentences.
func commandsIn(page string) (out []string) {
	page = strings.ReplaceAll(page, "\\\n", " ")
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "go run ./cmd/")
		if rest, ok := strings.CutPrefix(line, "snug "); ok && code {
			rest, _, _ = strings.Cut(rest, "  #")
			for part := range strings.SplitSeq(rest, " | snug ") {
				out = append(out, strings.TrimSpace(part))
			}
		}
		for _, m := range inline.FindAllStringSubmatch(line, -1) {
			out = append(out, strings.TrimPrefix(m[1], "snug "))
		}
	}
	return out
}

// placeholder matches a word that stands for something else: COMMAND, [flags], NAME=N,N, <your command>.
var placeholder = regexp.MustCompile(`^[<\[]|^[A-Z@=,|.]+$|\.\.\.|…`)

// runShown runs a command, or only parses it if it contains placeholders or would start another command.
func runShown(t *testing.T, line string) {
	t.Helper()
	args := words(line)
	starts := args[0] == "profile" || args[0] == "tune" || args[0] == "serve" || args[0] == "watch" || slices.Contains(args, "--profile") || slices.Contains(args, "--watch")
	var out, said bytes.Buffer
	env := Env{
		Stdin: strings.NewReader(`{"current":{"settings":{"batch":4}},"recommended":{"settings":{"batch":8}}}`), Stdout: &out, Stderr: &said,
		Open: func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Getenv: func(name string) string {
			return map[string]string{"LANG": "C.UTF-8", "SNUG_STORE": filepath.Join(t.TempDir(), "measured.db")}[name]
		},
		GPUs:      []gpu.Source{oneCard{}},
		WriteFile: func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) },
	}
	if starts || slices.ContainsFunc(args, placeholder.MatchString) || len(args) == 1 || line == "predict --out" {
		cmd, rest, err := newRoot(env).Find(args)
		if i := slices.IndexFunc(rest, placeholder.MatchString); i >= 0 && !starts {
			rest = rest[:i]
		}
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil && !strings.Contains(err.Error(), "flag needs an argument") {
			t.Errorf("snug %s: %v", line, err)
		}
		return
	}
	code := Run(context.Background(), env, args)
	if want := lacks[line]; code == exitFailed && (want == "" || !strings.Contains(said.String(), want)) {
		t.Errorf("snug %s: %s", line, said.String())
	}
}

// lacks lists the commands that cannot run in the folder, and why.
var lacks = map[string]string{
	"max-batch --json":                                                       "--gpu, --gpu-memory or --limit is required",
	"check --gpu RTX-4090 --base origin/main":                                "is not in a git repository",
	"check --gpu A100-80GB --base origin/main":                               "is not in a git repository",
	"check --gpu-memory 24 --config-path conf/train.yaml --base HEAD --json": "is not in a git repository",
	"history delete 3 4":                                                     "there is no run 3",
	"revert --changes 3":                                                     "changes can be undone, not 3",
	"predict a.pickle@batch=2,seq=128 b.pickle@batch=3,seq=128      c.pickle@batch=2,seq=192 --at batch=16,seq=512": "reading c.pickle",
	"estimate --model memory.snug --batch 64 --lengths lognormal:160,0.6,1024":                                      "the recorded steps do not differ",
}

// words returns the words of a command line. A word in quotes may contain spaces.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// newcomersFolder creates a folder with all but one of the files that the pages name.
func newcomersFolder(t *testing.T, without string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer t.Chdir(here)
	traces := filepath.Join(here, "../../testdata/measured/traces")
	recorded := filepath.Join(here, "../snapshot/testdata/gpt2-2l-b4-s128-fp32-adamw.pickle.gz")
	folder := t.TempDir()
	t.Chdir(folder)
	names, err := os.ReadDir(traces)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.Symlink(filepath.Join(traces, n.Name()), n.Name()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"snapshot.pickle", "snapshot.pickle.gz", "oom.pickle", "step10.pickle", "step90.pickle"} {
		if err := os.Symlink(recorded, name); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range newcomersFiles {
		if name == without {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runShown(t, "predict resnet50-b4-amp-bf16-sgdm-stacks.pickle.gz@batch=4 resnet50-b6-amp-bf16-sgdm-stacks.pickle.gz@batch=6 -o memory.snug")
	for _, to := range [][2]string{
		{"resnet50-b4-amp-bf16-sgdm-stacks.pickle.gz", "a.pickle"}, {"resnet50-b6-amp-bf16-sgdm-stacks.pickle.gz", "b.pickle"},
	} {
		if err := os.Symlink(to[0], to[1]); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// newcomersFiles are the files that the pages name.
var newcomersFiles = map[string]string{
	"src/a.py":             "import torch\n",
	"train.log":            "RuntimeError: CUDA error: out of memory\n",
	"outputs/run-17/a.log": "step 1 loss 2.0\n",
	"notebooks/a.ipynb":    `{"cells": []}`,
	"known.jsonl":          "",
	"train.py": `import argparse
import torch
from transformers import AutoModelForCausalLM
p = argparse.ArgumentParser()
p.add_argument("--config", default="gpt2")
p.add_argument("--batch-size", type=int, default=8)
p.add_argument("--ema", action="store_true")
args = p.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(10):
    ids = torch.randint(0, 50257, (args.batch_size, 128)).cuda()
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`,
	"run.yaml":                "model: {name: gpt2}\nbatch: 4\nseq: 128\nprecision: amp-bf16\n",
	"many.jsonl":              `{"id": "a", "model": {"name": "gpt2"}, "batch": 2, "seq": 64}` + "\n" + `{"id": "b", "model": {"name": "bert-base"}, "batch": 2, "seq": 64}` + "\n",
	"lengths.txt":             "12\n400\n90\n33\n",
	"commands.txt":            "a 1 1048576\nf 1\n",
	"models/gpt2/config.json": `{"model_type": "gpt2"}`,
	"conf/config.yaml":        "model_name_or_path: gpt2\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 4\nmax_seq_length: 128\nbf16: true\n",
}
