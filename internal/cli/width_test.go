// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestOutputFits checks that the output of commands fits 80 columns, with long names, many options and
// figures beyond any card, with Unicode and without.
func TestOutputFits(t *testing.T) {
	lora := "--lora-rank 64 --lora-targets q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj --lora-dropout 0.05"
	options := "--allocator expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8"
	lines := []string{
		"gpus --all", "gpus H200", "gpus A100-80GB-PCIe", "gpus MI300X", "gpus",
		"estimate --model gpt2 --batch 2 --seq 64 --explain --gpu A100-80GB-PCIe",
		"estimate --model torchvision/convnext_tiny --batch 2 --gpu RTX-6000-Ada",
		"estimate --model llama-3.2-1b --batch 64 --seq 4096 --attention eager --gpu T4 --clip --accumulation 16 --optimizer adamw-fused " + lora,
		"estimate --model llama-3.2-1b --batch 1 --seq 64 --dist fsdp2-noreshard --gpus 8 --param-dtype bf16 " + lora + " " + options,
		"max-batch --model gpt2 --seq 512 --limit 3GiB", "max-batch --model llama-3.2-1b --seq 512 --gpu A100-80GB-PCIe " + lora,
		"optimize --model gpt2 --batch 4 --seq 128 --gpu T4 --precision bf16 " + options,
		"optimize --model gpt2 --batch 4 --seq 128 --gpus 4 --nodes 2 --gpu A100-80GB-PCIe --margin 0.1 --reserve 1GiB",
		"optimize --model llama-3.2-1b --batch 4 --seq 128 --gpu-memory 2",
		"optimize --model gpt2 --batch 4 --seq 128 --gpu T4,A100-80GB-PCIe,RTX-6000-Ada,MI300X --allocator expandable_segments:True",
		"history", "apply --dir deep --set batch=2", "init --dir deep --dry-run", "optimize --dir deep --model gpt2 --gpu A100-80GB-PCIe",
	}
	t.Chdir(t.TempDir())
	at := filepath.Join("deep", "training", "configs")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	config := "micro_batch_size: 4\ngradient_accumulation_steps: 4\nprecision: bf16\nmax_seq_len: 128\n"
	if err := os.WriteFile(filepath.Join(at, "pretrain_small.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, lang := range []string{"C", "C.UTF-8"} {
		for _, line := range lines {
			fitsColumns(t, lang, line)
		}
	}
}

// fitsColumns runs a command and checks the width of each line. Lines to be copied into a shell are never
// broken.
func fitsColumns(t *testing.T, lang, command string) {
	t.Helper()
	var out, said strings.Builder
	env := Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said,
		Open: func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Getenv: func(name string) string {
			return map[string]string{"LANG": lang, "SNUG_STORE": filepath.Join(t.TempDir(), "measured.db")}[name]
		},
	}
	if code := Run(context.Background(), env, strings.Fields(command)); code == exitFailed {
		t.Errorf("snug %s: %s", command, said.String())
	}
	for l := range strings.Lines(out.String()) {
		l = strings.TrimSuffix(l, "\n")
		if n := utf8.RuneCountInString(l); n > 80 && !strings.HasPrefix(l, "  export ") {
			t.Errorf("snug %s, in %s: %d columns: %s", command, lang, n, l)
		}
	}
}
