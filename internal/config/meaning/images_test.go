// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestRefusedModels checks that a model is refused by name if the program or the objective is not simulated for it.
func TestRefusedModels(t *testing.T) {
	const image = "--pretrained_model_name_or_path runwayml/stable-diffusion-v1-5 --train_batch_size 2 --resolution 512\n"
	for name, x := range map[string]struct{ file, text, want string }{
		"another program for diffusion": {"run.sh", "python train_layouts.py " + image, "run.sh:1: runwayml/stable-diffusion-v1-5 is a diffusion model"},
		"diffusers' own":                {"run.sh", "python train_text_to_image.py " + image, ""},
		"answers about images": {"a.yaml", "model_name_or_path: Qwen/Qwen2-VL-2B-Instruct\nstage: dpo\nfinetuning_type: lora\nlora_rank: 8\nper_device_train_batch_size: 1\ncutoff_len: 64\npref_beta: 0.1\n",
			"a.yaml:1: Qwen/Qwen2-VL-2B-Instruct takes images"},
		"answers": {"a.yaml", "model_name_or_path: Qwen/Qwen2-0.5B\nstage: dpo\nfinetuning_type: lora\nlora_rank: 8\nper_device_train_batch_size: 1\ncutoff_len: 64\npref_beta: 0.1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}}).refused()
			if (len(got) > 0) != (x.want != "") || len(got) > 0 && !strings.HasPrefix(got[0].Say, x.want) {
				t.Errorf("refused: %v, want %q", got, x.want)
			}
		})
	}
}

// TestLengthOfNone checks that a field without a value does not hide a length.
func TestLengthOfNone(t *testing.T) {
	const program = "cutoff_len = 256\nclass Collator:\n    max_length: int = None\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\ntokens = tokenizer(text, max_length=cutoff_len)\nargs = TrainingArguments(per_device_train_batch_size=2)\n"
	if got := opened(t, fstest.MapFS{"a.py": {Data: []byte(program)}}).Fields()["seq"]; got != 256.0 {
		t.Errorf("the length is %v", got)
	}
}

// TestFlagsOfAnotherProgram checks that the flags of a module's own command line are not those of a program that imports it.
func TestFlagsOfAnotherProgram(t *testing.T) {
	files := fstest.MapFS{
		"train.py":    {Data: []byte("from measure import score\nparser.add_argument('--batch_size', default=2)\nparser.add_argument('--max_len', default=512)\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\nloss.backward()\n")},
		"measure.py":  {Data: []byte("def score(): pass\nif __name__ == '__main__':\n    parser.add_argument('--max_len', type=int, default=1024)\n")},
		"README.text": {Data: []byte("python train.py\n")},
	}
	if got := opened(t, files).Fields()["seq"]; got != 512.0 {
		t.Errorf("the length is %v", got)
	}
}
