// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"

	"snug/internal/config/projects"
)

// TestModelFlagOfProgram checks that a program's own flag for the model is read from the script that starts it, and that a
// flag without a value is off: run.sh with --backbone microsoft/deberta-v3-large was answered for the default, the base model.
func TestModelFlagOfProgram(t *testing.T) {
	const program = `import argparse
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("-m", "--backbone", default="microsoft/deberta-v3-base")
    p.add_argument("--bsz", type=int, default=16)
    p.add_argument("--half", action="store_true")
    return p.parse_args()
a = get_args()
tok = AutoTokenizer.from_pretrained(a.backbone, model_max_length=64)
model = AutoModelForSequenceClassification.from_pretrained(a.backbone, num_labels=5)
args = TrainingArguments("out", per_device_train_batch_size=a.bsz, fp16=a.half)
Trainer(model=model, args=args).train()
`
	files := fstest.MapFS{"finetune.py": {Data: []byte(program)}}
	r := opened(t, files)
	for _, b := range r.BindingsOf("precision") {
		if b.Place.Computed != "" {
			t.Errorf("%s: %s is unknown", b.Where(), b.Path)
		}
	}
	files["run.sh"] = &fstest.MapFile{Data: []byte("python finetune.py --backbone microsoft/deberta-v3-large --bsz 8\n")}
	found, err := projects.Find(files, ".", "run.sh")
	if err != nil {
		t.Fatal(err)
	}
	if got := New(found).Value("model"); got != "microsoft/deberta-v3-large" {
		t.Errorf("the model is %v", got)
	}
}
