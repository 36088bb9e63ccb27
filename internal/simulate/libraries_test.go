// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// followedScript follows a script with a two-layer GPT-2 and returns the notes.
func followedScript(t *testing.T, src string) []string {
	t.Helper()
	p := program{Program: "plain/tutorial.py", Args: []any{"--config", "models/gpt2-2l", "--batch-size", 2, "--seq-len", 64}}
	s := p.setup(t)
	f, err := pysrc.Parse("train.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	s.Script = &setup.Script{File: f}
	if _, err := Run(s, Options{}); err != nil {
		t.Fatal(err)
	}
	return s.Script.Notes()
}

const accelerated = `import torch
from accelerate import Accelerator
from transformers import AutoConfig, AutoModelForCausalLM

accelerator = Accelerator(OPTIONS)
model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.randint(0, 100, (12, 64)), batch_size=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x in loader:
    accelerator.backward(model(input_ids=x, labels=x).loss)
    optimizer.step()
    optimizer.zero_grad()
`

// TestOptionsOfLibraries checks that an option is noted, with the script's own line, if and only if it is not
// followed.
func TestOptionsOfLibraries(t *testing.T) {
	for _, tc := range []struct{ options, note string }{
		{`mixed_precision="bf16"`, ""},
		{`mixed_precision="fp8"`, "train.py:5: fp8 is not followed"},
		{`mixed_precision="bf16", dynamo_backend="inductor"`, "train.py:5: torch.compile is not simulated"},
		{`mixed_precision="bf16", fsdp_plugin=plugin`, "train.py:5: Accelerator's plugins for several cards"},
	} {
		notes := strings.Join(followedScript(t, strings.ReplaceAll(accelerated, "OPTIONS", tc.options)), "\n")
		if tc.note == "" && notes != "" || !strings.Contains(notes, tc.note) {
			t.Errorf("Accelerator(%s): noted %q, want %q", tc.options, notes, tc.note)
		}
	}
}

const lit = `import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint, CALLBACK
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM


class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2"))

    def training_step(self, batch, batch_idx):
        return self.net(input_ids=batch, labels=batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


callbacks = [ModelCheckpoint(), EarlyStopping("loss"), LearningRateMonitor(), pl.callbacks.TQDMProgressBar(), CALLBACK()]
trainer = pl.Trainer(precision="bf16-mixed", max_steps=3, callbacks=callbacks)
trainer.fit(Lit(), DataLoader(torch.randint(0, 100, (12, 64)), batch_size=2))
`

// TestCallbacks checks that a callback is noted if and only if its effect on memory is not followed.
func TestCallbacks(t *testing.T) {
	for callback, note := range map[string]string{
		"Timer":              "",
		"EMAWeightAveraging": "train.py:20: WeightAveraging's temporary copies",
		"ModelPruning":       "train.py:20: pruning is not followed",
	} {
		notes := strings.Join(followedScript(t, strings.ReplaceAll(lit, "CALLBACK", callback)), "\n")
		if note == "" && notes != "" || !strings.Contains(notes, note) {
			t.Errorf("%s: noted %q, want %q", callback, notes, note)
		}
	}
}

// TestUsualAccumulation checks that the last update of an epoch, which has fewer backward passes, does not change the
// reported number of backward passes per update.
func TestUsualAccumulation(t *testing.T) {
	p := program{Program: "plain/tutorial.py", Args: []any{"--config", "models/gpt2-2l", "--batch-size", 2, "--seq-len", 64}}
	s := p.setup(t)
	s.Accumulation = 8
	src := strings.NewReplacer("CALLBACK", "Timer", "max_steps=3", "max_steps=100, accumulate_grad_batches=8",
		"torch.randint(0, 100, (12, 64))", "dataset").Replace(lit)
	f, err := pysrc.Parse("train.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	s.Script = &setup.Script{File: f}
	if _, err := Run(s, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := s.Script.Accumulation(); got != 8 {
		t.Errorf("the script runs backward %d times per update, want 8", got)
	}
	if notes := strings.Join(s.Script.Notes(), "\n"); strings.Contains(notes, "accumulation") {
		t.Errorf("noted %q, but the script accumulates as the setup says", notes)
	}
}

// TestPartlyFollowed checks that only what could not be followed makes a script's figures uncertain: a list that grows with
// every step is noted, but followed.
func TestPartlyFollowed(t *testing.T) {
	const loop = `import torch
from transformers import GPT2LMHeadModel

model = GPT2LMHeadModel.from_pretrained("gpt2").cuda()
optimizer = torch.optim.AdamW(model.parameters())
history = []
for step in range(1000):
    x = torch.randint(0, 100, (8, 64), device="cuda")
    out = model(x, labels=x)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    BODY
`
	for body, want := range map[string]bool{"history.append(out.logits)": false, "unknown_library.save(model, out.logits.frobnicate())": true} {
		p := program{Program: "plain/tutorial.py", Args: []any{"--config", "models/gpt2-2l", "--batch-size", 8, "--seq-len", 64}}
		s := p.setup(t)
		f, err := pysrc.Parse("train.py", []byte(strings.ReplaceAll(loop, "BODY", body)))
		if err != nil {
			t.Fatal(err)
		}
		s.Precision, s.Script = setup.FP32, &setup.Script{File: f}
		if _, err := Run(s, Options{}); err != nil {
			t.Fatal(err)
		}
		notes := s.Script.Notes()
		if len(notes) == 0 {
			t.Errorf("%s: nothing is noted", body)
		}
		if got := s.Script.PartlyFollowed(); got != want {
			t.Errorf("%s: partly followed is %v, want %v (%q)", body, got, want, notes)
		}
	}
}
