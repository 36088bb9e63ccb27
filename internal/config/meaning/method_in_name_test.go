// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMethodInName checks the notes on files, folders and results named after adapters or 4-bit weights that no setting
// turns on.
func TestMethodInName(t *testing.T) {
	const hf = "per_device_train_batch_size: 2\nmodel_name_or_path: gpt2\n"
	for name, x := range map[string]struct{ file, text, note string }{
		"a file":           {"gpt2-qlora.yaml", hf + "lora_rank: 8\n", "gpt2-qlora.yaml: the name gpt2-qlora.yaml suggests 4-bit weights"},
		"a folder":         {"qlora/gpt2.yaml", hf + "lora_rank: 8\n", "qlora/gpt2.yaml: the name qlora suggests 4-bit weights"},
		"results":          {"a.yaml", hf + "output_dir: out/gpt2-lora\n", "a.yaml:3: the name gpt2-lora suggests adapters"},
		"adapters":         {"a-lora.yaml", hf + "lora_rank: 8\n", ""},
		"a key besides":    {"a-lora.yaml", hf + "tuner_type: lora\n", ""},
		"8 bits":           {"a-qlora.yaml", hf + "lora_rank: 8\nload_in_8bit: true\n", ""},
		"turned off":       {"a-lora.yaml", hf + "use_lora: false\n", ""},
		"part of a word":   {"explora.yaml", hf, ""},
		"4 bits, as named": {"a-qlora.yaml", hf + "lora_rank: 8\nload_in_4bit: true\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}})
			got := slices.DeleteFunc(r.Warnings(r.Fields()), func(n string) bool { return !strings.Contains(n, "suggests") })
			if x.note == "" && len(got) > 0 || x.note != "" && (len(got) != 1 || !strings.HasPrefix(got[0], x.note)) {
				t.Errorf("got %q, want %q", got, x.note)
			}
		})
	}
}

// TestQuantizedBySwitch checks the note on a program that quantizes weights in a branch.
func TestQuantizedBySwitch(t *testing.T) {
	const program = `from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
def run(small):
    if small:
        model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=BitsAndBytesConfig(%s))
    else:
        model = AutoModelForCausalLM.from_pretrained("gpt2")
    args = TrainingArguments(per_device_train_batch_size=2)
    Trainer(model=model, args=args).train()
`
	for args, want := range map[string]bool{"load_in_4bit=True": true, "": false} {
		r := opened(t, fstest.MapFS{"a.py": {Data: []byte(strings.Replace(program, "%s", args, 1))}})
		got := r.quantizedBySwitch(r.Fields())
		if noted := len(got) == 1 && strings.HasPrefix(got[0], "a.py:4: load_in_4bit=True is in the program"); noted != want || len(got) > 1 {
			t.Errorf("%s: %q", args, got)
		}
	}
}
