// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestOwnLayers checks that programs that use a library's own layers are refused, including programs that a script
// starts from a folder above its own.
func TestOwnLayers(t *testing.T) {
	const start = "cd ../..\npython src/train.py --per_device_train_batch_size 2\n"
	for name, x := range map[string]struct{ program, want string }{
		"BMTrain":       {"import bmtrain as bmt\n", "lab/src/train.py:1: bmtrain has its own layers"},
		"model_center":  {"import os\nfrom model_center.model import Llama\n", "lab/src/train.py:2: model_center has its own layers"},
		"Unsloth":       {"m, t = FastLanguageModel.from_pretrained('gpt2')\n", "lab/src/train.py:1: FastLanguageModel is Unsloth's"},
		"adapters":      {"model = AutoAdapterModel.from_pretrained('bert-base-uncased')\n", "lab/src/train.py:1: AutoAdapterModel belongs to the adapters library"},
		"its trainer":   {"from adapters import AdapterTrainer\n", "lab/src/train.py:1: AdapterTrainer belongs to the adapters library"},
		"in a comment":  {"# import bmtrain\nimport torch\n", ""},
		"another name":  {"import bmtrainer\n", ""},
		"transformers'": {"from transformers import Trainer\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"lab/scripts/run/a.sh": {Data: []byte(start)}, "lab/src/train.py": {Data: []byte(x.program)}}
			got := opened(t, files).refused()
			if refused := len(got) > 0; refused != (x.want != "") || refused && !strings.HasPrefix(got[0].Say, x.want) {
				t.Errorf("refused: %v, want %q", got, x.want)
			}
		})
	}
}

// TestLinkedWithoutSigns checks that a config named by --deepspeed is read even if it has no batch and no stage.
func TestLinkedWithoutSigns(t *testing.T) {
	run := opened(t, fstest.MapFS{
		"a.sh":     {Data: []byte("deepspeed train.py --per_device_train_batch_size 2 --deepspeed moq.json\n")},
		"moq.json": {Data: []byte("{\"quantize_training\": {\"enabled\": true}}\n")},
	})
	notes := run.Warnings(run.Fields())
	if !slices.ContainsFunc(notes, func(n string) bool {
		return strings.HasPrefix(n, "moq.json:1: quantize_training.enabled rounds weights")
	}) {
		t.Errorf("notes are %q", notes)
	}
}

// TestColocated checks that a run is refused if vLLM samples answers on the training GPU.
func TestColocated(t *testing.T) {
	const text = "per_device_train_batch_size: 2\nnum_generations: 8\nmax_completion_length: 64\nuse_vllm: "
	for value, want := range map[string]bool{"true\n": true, "false\n": false} {
		got := opened(t, fstest.MapFS{"grpo.yaml": {Data: []byte(text + value)}}).refused()
		if (len(got) > 0) != want || want && !strings.Contains(got[0].Say, "use_vllm samples answers with vLLM") {
			t.Errorf("use_vllm %s: refused: %v", value, got)
		}
	}
}

// TestOtherLosses checks that an unread switch for another loss is noted.
func TestOtherLosses(t *testing.T) {
	run := opened(t, fstest.MapFS{"a.sh": {Data: []byte("python train.py --per_device_train_batch_size 2 --enable_r1_loss --loss_scale 2\n")}})
	notes := strings.Join(run.Warnings(run.Fields()), "\n")
	if !strings.Contains(notes, "enable_r1_loss") || strings.Contains(notes, "loss_scale") {
		t.Errorf("notes are %s", notes)
	}
}

// TestAttentionInBranch checks that an attention implementation set in only one branch of a program is noted.
func TestAttentionInBranch(t *testing.T) {
	const load = "model = AutoModelForCausalLM.from_pretrained('gpt2', attn_implementation='flash_attention_2')\n"
	for name, x := range map[string]struct {
		text string
		want bool
	}{
		"branch":  {"if x:\n    " + load, true},
		"comment": {"if x:\n    # " + load, false},
		"read":    {load, false},
	} {
		run := opened(t, fstest.MapFS{"a.py": {Data: []byte(x.text + "args = TrainingArguments(per_device_train_batch_size=2)\n")}})
		notes := strings.Join(run.Warnings(run.Fields()), "\n")
		if got := strings.Contains(notes, "sdpa attention is assumed"); got != x.want {
			t.Errorf("%s: notes are %s", name, notes)
		}
	}
}
