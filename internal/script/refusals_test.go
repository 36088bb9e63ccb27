// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// training is the start of a script that loads a model.
const training = `import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()
opt = torch.optim.AdamW(model.parameters())
`

// sentences is the start of a script that loads a sentence transformer.
const sentences = `from sentence_transformers import SentenceTransformer, losses
from sentence_transformers.trainer import SentenceTransformerTrainer
model = SentenceTransformer("gpt2")
`

// lists is a script that trains a cross-encoder on lists of documents.
const lists = `from sentence_transformers import CrossEncoder, CrossEncoderTrainer
from sentence_transformers.cross_encoder.losses.LambdaLoss import LambdaLoss
model = CrossEncoder("gpt2")
loss = LambdaLoss(model)
CrossEncoderTrainer(model=model, loss=loss).train()
`

// TestRefusals checks the errors for scripts that cannot be followed.
func TestRefusals(t *testing.T) {
	for name, x := range map[string]struct{ script, want string }{
		"code fixes the batch": {training + "while True:\n    x = torch.randint(0, 5, (4, 8)).cuda()\n    model(x, labels=x).loss.backward()\n    opt.step()\n", "x.py:7: the code fixes the batch at 4"},
		"a list in itself":     {"x = []\nx.append(x)\ny = x == x\n", "x.py:2: a list or dict that contains itself"},
		"endless calls":        {"def f():\n    f()\nf()\n", "x.py:2: calls are nested more than"},
		"many items":           {"x = [0] * 1000\nwhile True:\n    x = x + x\n", "x.py:3: following the script requires lists"},
		"no model":             {"print(1)\n", "it calls no model that snug knows"},
		"a decoder":            {sentences + "loss = losses.DenoisingAutoEncoderLoss(model)\n", "x.py:4: DenoisingAutoEncoderLoss also trains a decoder"},
		"an unknown loss":      {sentences + "trainer = SentenceTransformerTrainer(model=model, loss=losses.OwnLoss(model))\n", "x.py:4: the loss of this trainer is not one that snug knows"},
		"a convolution":        {sentences + "from sentence_transformers import models\ncnn = models.CNN(768)\n", "x.py:5: models.CNN adds convolutions"},
		"texts":                {sentences + "SentenceTransformerTrainer(model=model, train_dataset=mine, loss=losses.MultipleNegativesRankingLoss(model)).train()\n", "x.py:4: the number of texts in a sample depends on the data; give it with --positives"},
		"lists":                {lists, "x.py:5: this loss scores all documents of a query"},
		"adapters":             {sentences + "model.add_adapter(config)\n", "x.py:4: adapters added to a sentence transformer"},
		"an unknown type":      {training + "from transformers import Wav2Vec2Config, Wav2Vec2Model\nother = Wav2Vec2Model(Wav2Vec2Config())\n", "x.py:6: Wav2Vec2Model, which is made from a Wav2Vec2Config, is not simulated"},
		"no backward":          {training + "for b in loader:\n    own_step(model(b[\"input_ids\"].cuda()))\n    opt.step()\n", "no backward pass was found before its first update"},
		"no update":            {training + "for b in loader:\n    model(b[\"input_ids\"].cuda())\n", "no optimizer update"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := follow(t, x.script)
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want %q", err, x.want)
			}
		})
	}
}

// TestNotes checks the notes for scripts that are followed.
func TestNotes(t *testing.T) {
	step := "    b = {k: v.cuda() for k, v in b.items()}\n    out = model(**b)\n%s    out.loss.backward()\n    opt.step()\n    opt.zero_grad()\n"
	for name, x := range map[string]struct{ script, want string }{
		"it grows":      {training + "kept = []\nfor b in loader:\n" + strings.Replace(step, "%s", "    kept.append(out.logits)\n", 1), "more with every step"},
		"another model": {training + "other = AutoModelForCausalLM.from_pretrained(\"gpt2-xl\").cuda()\nfor b in loader:\n" + strings.Replace(step, "%s", "", 1), "x.py:5: the model gpt2-xl is assumed"},
		"an autocast":   {training + "for b in loader:\n    with torch.autocast(\"cuda\", enabled=unknown_thing()):\n        pass\n" + strings.Replace(step, "%s", "", 1), "whether autocast is enabled is not known"},
		"a condition":   {training + "for b in loader:\n" + strings.Replace(step, "%s", "    if unknown_thing():\n        opt.step()\n", 1), "whether this condition holds is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes, err := follow(t, x.script)
			if err != nil || !strings.Contains(strings.Join(notes, "\n"), x.want) {
				t.Errorf("got %v and %q, want %q", err, notes, x.want)
			}
		})
	}
}

// follow runs a script with a small model.
func follow(t *testing.T, text string) (*simulate.Result, []string, error) {
	t.Helper()
	file, err := pysrc.Parse("x.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &setup.Setup{
		Batch: 64, Seq: 128, Steps: 3, Optimizer: "adamw", Precision: setup.FP32, Loop: "x.py",
		Model:  setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 1.0, "n_embd": 64.0, "n_head": 2.0, "vocab_size": 1000.0, "n_positions": 128.0}},
		Script: &setup.Script{File: file},
	}
	res, err := simulate.Run(s, simulate.Options{})
	return res, s.Script.Notes(), err
}
