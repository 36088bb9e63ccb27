// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// speechScript follows a script that trains a small Whisper with Seq2SeqTrainer; more are additional lines of the
// script, and arguments additional training arguments.
func speechScript(t *testing.T, more, arguments string) *Result {
	t.Helper()
	s, err := setup.Decode(map[string]any{
		"model": map[string]any{"config": map[string]any{
			"model_type": "whisper", "d_model": 64.0, "encoder_layers": 1.0, "decoder_layers": 1.0, "encoder_attention_heads": 2.0, "decoder_attention_heads": 2.0,
			"encoder_ffn_dim": 64.0, "decoder_ffn_dim": 64.0, "max_source_positions": 20.0,
		}},
		"batch": 2.0, "seq": 64.0,
	}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := pysrc.Parse("train.py", fmt.Appendf(nil, `
import torch
from snug import load_model
from torch.utils.data import Dataset
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

class Speech(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return {"input_features": torch.zeros(80, 40), "labels": torch.ones(64, dtype=torch.long)}

model = load_model()
%s
args = Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=2, per_device_eval_batch_size=8, max_steps=2, %s)
trainer = Seq2SeqTrainer(model=model, args=args, train_dataset=Speech(), eval_dataset=Speech(), compute_metrics=lambda p: {})
trainer.train()
`, more, arguments))
	if err != nil {
		t.Fatal(err)
	}
	s.Script = &setup.Script{File: f}
	r, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGenerationKeepsTokens checks that an evaluation with predict_with_generate keeps the generated tokens, and one
// without it the logits of all batches.
func TestGenerationKeepsTokens(t *testing.T) {
	peak := func(generates string) uint64 {
		return played(t, speechScript(t, "", `eval_strategy="steps", eval_steps=1, predict_with_generate=`+generates)).PeakAllocated
	}
	logits := uint64(8 * 64 * 51865 * 4)
	with, without := peak("True"), peak("False")
	if with+logits > without {
		t.Errorf("%d bytes with generation and %d without, want at least %d less", with, without, logits)
	}
}

// TestFreezeEncoder checks that a script's model.freeze_encoder() leaves only the decoder's parameters to be trained.
func TestFreezeEncoder(t *testing.T) {
	all, frozen := speechScript(t, "", ""), speechScript(t, "model.freeze_encoder()", "")
	encoder := 80*3*64 + 64 + 3*64*64 + 64 + 1*(4*64*64+3*64+2*64*64+2*64+4*64) + 2*64 // without its positions, which are never trained
	if all.Trainable-frozen.Trainable != encoder {
		t.Errorf("%d and %d parameters are trained, want %d less", all.Trainable, frozen.Trainable, encoder)
	}
}
