// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// classes is a script that trains a classifier on an unknown dataset.
const classes = `import torch
from datasets import load_dataset
from peft import BOFTConfig, IA3Config, LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification

loader = torch.utils.data.DataLoader(load_dataset("glue", "mrpc")["train"], batch_size=4)
model = AutoModelForSequenceClassification.from_pretrained("roberta-base"MORE)
THEN
model.to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for batch in loader:
    batch = {k: v.to("cuda") for k, v in batch.items()}
    loss = model(**batch).loss
    if torch.isfinite(loss) and loss != 0:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`

// TestOtherTuners checks that PEFT's methods that are not simulated are refused by name.
func TestOtherTuners(t *testing.T) {
	f, err := pysrc.Parse("train.py", []byte(strings.NewReplacer("MORE", "", "THEN", "model = get_peft_model(model, BOFTConfig(boft_block_size=4))").Replace(classes)))
	if err != nil {
		t.Fatal(err)
	}
	s := &setup.Setup{
		Model: setup.Model{Config: map[string]any{"model_type": "roberta"}, Head: "masked-lm"},
		Batch: 4, Seq: 32, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", Steps: 1, Loop: "train.py", Script: &setup.Script{File: f},
	}
	if _, err := Run(s, Options{}); err == nil || !strings.Contains(err.Error(), "get_peft_model with BOFTConfig is not simulated") {
		t.Errorf("got %v", err)
	}
}

// TestClassifierScripts compares the trained parameters of classifiers in scripts with transformers 5.17
// and PEFT 0.21. The setup's model has its usual head, not a classifier.
func TestClassifierScripts(t *testing.T) {
	for name, x := range map[string]struct {
		more, then        string
		params, trainable int
	}{
		"as it is":       {"", "", 124_647_170, 124_647_170},
		"classes":        {", num_labels=6", "", 124_650_246, 124_650_246},
		"their names":    {", id2label={0: 'a', 1: 'b', 2: 'c', 3: 'd', 4: 'e', 5: 'f'}", "", 124_650_246, 124_650_246},
		"numbers":        {", num_labels=1", "", 124_646_401, 124_646_401},
		"frozen encoder": {"", "for p in model.roberta.parameters():\n    p.requires_grad = False", 124_647_170, 592_130},
		"frozen head":    {"", "for p in model.classifier.parameters():\n    p.requires_grad = False", 124_647_170, 124_055_040},
		"LoRA":           {"", "model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, r=8, target_modules=['query', 'value']))", 125_534_212, 887_042},
		// key and value of each layer, inputs of both dense layers, and the classifier
		"IA3": {"", "model = get_peft_model(model, IA3Config(task_type=TaskType.SEQ_CLS))", 125_303_812, 656_642},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := pysrc.Parse("train.py", []byte(strings.NewReplacer("MORE", x.more, "THEN", x.then).Replace(classes)))
			if err != nil {
				t.Fatal(err)
			}
			s := &setup.Setup{
				Model: setup.Model{Config: map[string]any{"model_type": "roberta", "max_position_embeddings": 514.0, "type_vocab_size": 1.0}, Head: "masked-lm"},
				Batch: 4, Seq: 32, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", Steps: 3, Loop: "train.py", Script: &setup.Script{File: f},
			}
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Params != x.params || res.Trainable != x.trainable {
				t.Errorf("%d parameters, %d trained; want %d and %d", res.Params, res.Trainable, x.params, x.trainable)
			}
			if notes := s.Script.Notes(); len(notes) > 0 {
				t.Errorf("noted: %v", notes)
			}
		})
	}
}
