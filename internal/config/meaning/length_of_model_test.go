// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLengthOfModel checks that if no file sets ms-swift's length, the error asks for it and gives the model's limit, and
// that no other system gets this error.
func TestLengthOfModel(t *testing.T) {
	for name, x := range map[string]struct {
		text  string
		asked bool
	}{
		"no length":      {"swift sft --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 1\n", true},
		"a length":       {"swift sft --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 1 --max_length 2048\n", false},
		"a variable":     {"swift sft --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 1 --max_length $LENGTH\n", false},
		"unknown model":  {"swift sft --model own/model --per_device_train_batch_size 1\n", false},
		"another system": {"python train.py --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 1\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			run := opened(t, fstest.MapFS{"run.sh": {Data: []byte(x.text)}})
			asked := slices.ContainsFunc(run.Missing(), func(m Missing) bool {
				return m.Setting == "seq" && strings.Contains(m.Say, "accepts samples up to the model's limit of 32768 tokens")
			})
			if asked != x.asked {
				t.Errorf("asked: %v; missing: %v", asked, run.Missing())
			}
		})
	}
}

// TestOpenLength checks that a length of null is reported with its place, and that another length is not.
func TestOpenLength(t *testing.T) {
	const text = "model:\n  _component_: torchtune.models.llama2.llama2_7b\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\ntokenizer:\n  _component_: torchtune.models.llama2.llama2_tokenizer\n  max_seq_len: "
	const want = "a.yaml:10: tokenizer.max_seq_len is null, so samples keep their own lengths"
	got := opened(t, fstest.MapFS{"a.yaml": {Data: []byte(text + "null\n")}}).Missing()
	if len(got) != 1 || got[0].Setting != "seq" || !strings.HasPrefix(got[0].Say, want) {
		t.Errorf("missing: %v", got)
	}
	if got := opened(t, fstest.MapFS{"a.yaml": {Data: []byte(text + "512\n")}}).Missing(); len(got) != 0 {
		t.Errorf("missing with a length: %v", got)
	}
}

// TestNoise checks that ms-swift's noise in the embeddings is noted, unless it is 0.
func TestNoise(t *testing.T) {
	for value, want := range map[string]bool{"15": true, "0": false} {
		run := opened(t, fstest.MapFS{"run.sh": {Data: []byte("swift sft --model gpt2 --max_length 64 --neftune_noise_alpha " + value + "\n")}})
		noted := slices.ContainsFunc(run.Warnings(run.Fields()), func(n string) bool { return strings.Contains(n, "--neftune_noise_alpha adds noise to the embeddings") })
		if noted != want {
			t.Errorf("%s: noted %v", value, noted)
		}
	}
}
