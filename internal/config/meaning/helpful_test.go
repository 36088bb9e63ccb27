// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestHelpful checks that runs are refused for what they do, not for how a value is written.
func TestHelpful(t *testing.T) {
	const flags = "--model_name_or_path gpt2 --per_device_train_batch_size 2"
	for name, x := range map[string]struct {
		files map[string]string
		want  string
	}{
		"GPUs as a word": {map[string]string{"a.sh": "torchrun --nproc_per_node=gpu a.py " + flags + "\n"},
			"a.sh:1: --nproc_per_node gpu is only known when the run starts; give --gpus N"},
		"some layers": {map[string]string{"a.sh": "python a.py " + flags + " --activation_checkpointing=one_in_four\n"},
			`a.sh:1: "one_in_four" is not known to snug; give a similar value with --checkpointing`},
		"made at run time": {map[string]string{"a.yaml": "batch_size: 2\ntorch_dtype:\n  _target_: own.dtype\n  dtype: bfloat16\n"},
			"no file names the model"},
		"beside a model": {map[string]string{"a.yaml": "batch_size: 2\nmodel:\n  normalizer:\n    _target_: text.Normalizer\n  decoder:\n    _target_: own.Decoder\n"},
			"a.yaml:6: own.Decoder is not a model"},
		"only beside": {map[string]string{"a.yaml": "batch_size: 2\nmodel:\n  spec_augment:\n    _target_: lib.asr.Augment\n"},
			"a.yaml:4: lib.asr.Augment is"},
		"sizes beside": {map[string]string{"run/a.sh": "here=`pwd`\npython a.py --cf $here/../big.json --per_device_train_batch_size 2\n", "big.json": `{"net": {"hidden_size": 64, "num_hidden_layers": 2}}`},
			"big.json:1: net.hidden_size and net.num_hidden_layers are the sizes of a model"},
		"a rank in a branch": {map[string]string{"a.sh": "python a.py " + flags + " --use_lora\n", "a.py": "def f(x):\n    if x:\n        c = LoraConfig(task=T(1), r=16)\n"},
			"a.sh:1: --use_lora turns adapters on, but their rank is set in the program (a.py:3: LoraConfig, rank 16); give --lora-rank 16 and --lora-targets"},
		"a rank lines below": {map[string]string{"a.sh": "python a.py " + flags + " --use_lora\n", "a.py": "def f(x):\n    if x:\n        c = LoraConfig(\n            bias='none',\n            target_modules=(\n                ['q'] if x else ['v']\n            ),\n            r=32,\n        )\n"},
			"a.sh:1: --use_lora turns adapters on, but their rank is set in the program (a.py:3: LoraConfig, rank 32); give --lora-rank 32"},
		"a computed rank": {map[string]string{"a.sh": "python a.py " + flags + " --use_lora\n", "a.py": "def f(x):\n    if x:\n        c = LoraConfig(r=x.r)\n"},
			"a.sh:1: --use_lora turns adapters on, but the program computes their rank (a.py:3: LoraConfig); give --lora-rank N"},
		"a mode":          {map[string]string{"a.sh": "python a.py --per_device_train_batch_size 2 --compile=default\n"}, "no file names the model"},
		"a config's name": {map[string]string{"a.sh": "python a.py --config-name sft.yaml --per_device_train_batch_size 2\n"}, "no file names the model"},
		"a collator": {map[string]string{"a.yaml": "batch_size: 2\ncollator:\n  _target_: data.DPODataCollator\n"},
			"no file names the model"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, text := range x.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got := opened(t, files).Missing()
			if len(got) == 0 || !strings.HasPrefix(got[0].Say, x.want) {
				t.Errorf("got %v, want %q", got, x.want)
			}
		})
	}
}
