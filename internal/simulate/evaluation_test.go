// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
	"snug/internal/stream"
)

// evaluated returns a two-layer GPT-2 whose evaluation keeps the logits of four batches of eight.
func evaluated(t *testing.T, loop string) *setup.Setup {
	t.Helper()
	s := program{Program: "plain/tutorial.py", Args: []any{"--config", "models/gpt2-2l", "--batch-size", 2, "--seq-len", 64}}.setup(t)
	s.Script, s.Loop, s.Evaluation = nil, loop, &setup.Evaluation{Batch: 8, KeepsLogits: true}
	if loop != "" {
		s.Script = &setup.Script{Name: loop}
	}
	return s
}

// phasePeak returns the peak of allocated bytes in a phase.
func phasePeak(t *testing.T, s *setup.Setup, phase uint32) uint64 {
	t.Helper()
	res, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var now, most uint64
	var at uint32
	trace := res.World.Trace
	sizes := map[uint32]uint64{}
	for _, e := range trace.Events {
		switch e.Kind {
		case stream.Mark:
			at = e.ID
		case stream.Alloc:
			sizes[e.ID] = e.Size
			now += e.Size
		case stream.Free:
			now -= sizes[e.ID]
		}
		if at == phase {
			most = max(most, now)
		}
	}
	return most
}

const evaluatingStep = `import torch
from transformers import AutoConfig, AutoModelForCausalLM

model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("gpt2")).to("cuda")
model.config.use_cache = False
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randint(0, 100, (20, 64))


def step(x):
    x = x.to("cuda")
    mask = torch.ones_like(x)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=x, attention_mask=mask, labels=x.clone()).loss
    (loss / 1).backward()
    optimizer.step()
    optimizer.zero_grad()


def predict(x):
    x = x.to("cuda")
    mask = torch.ones_like(x)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return model(input_ids=x, attention_mask=mask, labels=x.clone()).logits


@torch.no_grad()
def evaluate():
    model.eval()
    kept = []
    for i in range(4):
        kept.append(predict(torch.randint(0, 100, (8, 64))))
    model.train()


for x in torch.utils.data.DataLoader(data, batch_size=2):
    step(x)
    evaluate()
`

// TestEvaluationIsThatOfAScript compares the evaluation in snug's own loop with the evaluation in an equivalent
// script.
func TestEvaluationIsThatOfAScript(t *testing.T) {
	written := evaluated(t, "")
	f, err := pysrc.Parse("train.py", []byte(evaluatingStep))
	if err != nil {
		t.Fatal(err)
	}
	written.Evaluation, written.Script, written.Loop = nil, &setup.Script{File: f}, "train.py"
	ours, theirs := phasePeak(t, evaluated(t, ""), Evaluation), phasePeak(t, written, Evaluation)
	if ours == 0 || max(ours, theirs)-min(ours, theirs) > 512 { // allow for a block's rounding
		t.Errorf("snug's evaluation holds %d bytes, the script's %d", ours, theirs)
	}
}

// TestEveryLoopEvaluates checks that each loop known by name runs the setup's evaluation, and that keeping logits
// takes at least their size.
func TestEveryLoopEvaluates(t *testing.T) {
	const logits = 8 * 64 * 50257 * 2 // in bf16
	for _, loop := range setup.Loops {
		switch loop {
		case setup.StepLoop:
			loop = ""
		case setup.SentenceLoop, "timm", setup.DiffusersLoop, "nanogpt":
			continue // loops for encoders or images, or with their own evaluation
		}
		if setup.ComparesAnswers(loop) {
			continue // these loops do not evaluate, as TestNotes in internal/estimate checks
		}
		kept := evaluated(t, loop)
		passing := evaluated(t, loop)
		if loop == setup.LitGPTLoop {
			kept.Script, passing.Script = nil, nil // simulate with the loop known by name
		}
		passing.Evaluation.KeepsLogits = false
		more, less := phasePeak(t, kept, Evaluation), phasePeak(t, passing, Evaluation)
		switch {
		case less == 0:
			t.Errorf("loop %q does not evaluate", loop)
		case loop == "trl": // the loss makes no logits
		case more < less+2*logits:
			t.Errorf("loop %q: keeping the logits of four batches takes %d more bytes, want %d each", loop, more-less, logits)
		case kept.Evaluation.Logits() != logits && loop != "torchtune": // torchtune has no autocast
			t.Errorf("loop %q: the logits of a batch are %d bytes, want %d", loop, kept.Evaluation.Logits(), logits)
		}
	}
}

// TestEvaluationComesInTime checks when evaluations run, and that training continues after the last.
func TestEvaluationComesInTime(t *testing.T) {
	for _, tc := range []struct{ every, want int }{{0, 1}, {1, 3}, {2, 1}, {500, 1}} {
		s := evaluated(t, "")
		s.Evaluation.Every = tc.every
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, last := 0, uint32(Load)
		for _, e := range res.World.Trace.Events {
			if e.Kind == stream.Mark {
				last = e.ID
				if last == Evaluation {
					n++
				}
			}
		}
		if n != tc.want || last != Optimizer {
			t.Errorf("every %d: %d evaluations, last phase %d, want %d", tc.every, n, last, tc.want)
		}
	}
}
