// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// savedModel is a config.json with the type that the model is saved in.
const savedModel = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
 "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
 "vocab_size": 8000, "max_position_embeddings": 512, "dtype": "bfloat16"}`

// After the settings are written, the run trains and takes the predicted memory, although one key can set the
// type of both the weights and the arithmetic.
func TestAppliedAsPromised(t *testing.T) {
	trainer := "model_name_or_path: ./model\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\noutput_dir: out\n"
	axolotl := "base_model: ./model\nmicro_batch_size: 4\nsequence_len: 256\n"
	for _, c := range []struct{ name, file, precision, weights, writes string }{
		{"transformers", trainer + "max_seq_length: 256\nbf16: true\n", "amp-fp16", "fp32", "dtype: float32"},
		{"transformers' type", trainer + "max_seq_length: 256\nbf16: true\ndtype: bfloat16\n", "amp-fp16", "fp32", "dtype: float32"},
		{"TRL", trainer + "max_length: 256\ndtype: bfloat16\n", "amp-fp16", "", "dtype: float32"},
		{"TRL's LoRA", trainer + "max_length: 256\ndtype: bfloat16\nuse_peft: true\n", "amp-fp16", "fp16", "dtype: float16"},
		{"Axolotl", axolotl + "bf16: auto\n", "amp-bf16", "", "bf16: auto"},
		{"Axolotl's LoRA", axolotl + "bf16: auto\nadapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_linear: true\n", "amp-fp16", "", "fp16: true"},
		{"flash attention", axolotl + "bf16: full\nflash_attention: true\n", "bf16", "", "attn_implementation: sdpa"},
		{"LLaMA-Factory", trainer + "cutoff_len: 256\nfinetuning_type: full\nbf16: true\n", "amp-fp16", "", "fp16: true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "model/config.json", savedModel)
			write(t, "run.yaml", c.file)
			promised, settings := advice(t)
			said, _ := settings["weights"].(string)
			if diff := cmp.Diff([]string{c.precision, c.weights}, []string{settings["precision"].(string), said}); diff != "" {
				t.Errorf("precision and weights, -want +got:\n%s", diff)
			}
			snugs(t, "optimize --gpu T4 --apply")
			if text, _ := os.ReadFile("run.yaml"); !strings.Contains(string(text), c.writes) {
				t.Errorf("want %q in\n%s", c.writes, text)
			}
			var got takes
			parse(t, snugs(t, "estimate --gpu T4 --json"), &got)
			if diff := cmp.Diff(promised, got); diff != "" {
				t.Errorf("-promised +estimated:\n%s", diff)
			}
		})
	}
}

// takes contains the parts of an estimate that must be equal.
type takes struct {
	Reserved uint64 `json:"peak_reserved"`
	Peak     uint64 `json:"device_peak"`
	Error    string `json:"error"`
}

// advice returns what optimize predicts, and the settings that it recommends.
func advice(t *testing.T) (takes, map[string]any) {
	t.Helper()
	var p struct {
		Recommended struct {
			Settings map[string]any `json:"settings"`
			Estimate takes          `json:"estimate"`
		} `json:"recommended"`
	}
	parse(t, snugs(t, "optimize --gpu T4 --json"), &p)
	return p.Recommended.Estimate, p.Recommended.Settings
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// snugs runs snug in the current folder.
func snugs(t *testing.T, line string) string {
	t.Helper()
	var out, said strings.Builder
	env := Env{
		Stdout: &out, Stderr: &said, Getenv: func(string) string { return "" },
		Open: func(name string) (io.ReadCloser, error) { return os.Open(name) },
	}
	if code := Run(context.Background(), env, strings.Fields(line)); code != exitDone {
		t.Fatalf("snug %s: exit code %d: %s", line, code, said.String())
	}
	return out.String()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
