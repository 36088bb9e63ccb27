// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"io/fs"
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// followSource follows a script that does not use the setup's model, with settings files next to it.
func followSource(t *testing.T, src string, files map[string]string) *Result {
	t.Helper()
	f, err := pysrc.Parse("train.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Follow(Run{
		World: shadow.NewWorld(kernel.Rules{}), File: f, Batch: 2, Seq: 16,
		Read: func(path string) (string, error) {
			if text, ok := files[path]; ok {
				return text, nil
			}
			return "", fs.ErrNotExist
		},
		Build: func(Making) (Net, error) { return nil, errors.New("the setup's model must not be built") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

const ownModel = `
import json
from dataclasses import dataclass, fields
from pathlib import Path
import torch
import torch.nn as nn

@dataclass
class Sizes:
    width: int = 8
    heads: int = 2

with open(Path(__file__).with_suffix(".json")) as f:
    c = json.load(f)
sizes = Sizes(**{f.name: c[f.name] for f in fields(Sizes)})

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(50, sizes.width)
        layer = nn.TransformerEncoderLayer(sizes.width, sizes.heads, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, c["layers"])
        self.norm = nn.RMSNorm(sizes.width)
        self.head = nn.Linear(sizes.width, 50)

    def forward(self, x, mask):
        return self.head(self.norm(self.encoder(self.tok(x), mask=mask)))

model = Net().cuda()
mask = nn.Transformer.generate_square_subsequent_mask(16).cuda()
opt = torch.optim.RMSprop(model.parameters(), momentum=0.9)
for i in range(c["steps"]):
    x = torch.randint(50, (2, 16)).cuda()
    loss = nn.functional.cross_entropy(model(x, mask).view(-1, 50), x.view(-1))
    loss.backward()
    opt.step()
    opt.zero_grad()
`

// TestOwnModel follows a model that the script builds itself, with sizes from a file, and checks that every
// parameter gets a gradient.
func TestOwnModel(t *testing.T) {
	res := followSource(t, ownModel, map[string]string{"train.json": `{"width": 32, "heads": 4, "layers": 3, "steps": 4}`})
	if len(res.Notes) > 0 {
		t.Errorf("notes: %q", res.Notes)
	}
	if res.Updates != 4 || len(res.Trained) != 1+3*12+1+2 || res.Graded != len(res.Trained) {
		t.Errorf("%d updates of %d parameters, %d of them with gradients", res.Updates, len(res.Trained), res.Graded)
	}
	if got := res.Trained[0].Size(1); got != 32 {
		t.Errorf("the width is %d, but the file has 32", got)
	}
}

const ownHead = `
import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x, labels=None):
        logits = self.head(x)
        return SequenceClassifierOutput(loss=nn.functional.cross_entropy(logits, labels), logits=logits)

model = Net().cuda()
opt = torch.optim.AdamW(model.parameters())
for i in range(2):
    out = model(torch.zeros(2, 8, device="cuda"), labels=torch.zeros(2, dtype=torch.long, device="cuda"))
    out.loss.backward()
    opt.step()
    opt.zero_grad()
`

// TestModelOutput follows a model that returns one of transformers' classes of outputs.
func TestModelOutput(t *testing.T) {
	res := followSource(t, ownHead, nil)
	if len(res.Notes) > 0 || res.Updates != 2 || res.Backwards != 2 || res.Graded != 2 {
		t.Errorf("%d updates, %d backward passes, %d gradients, notes %q", res.Updates, res.Backwards, res.Graded, res.Notes)
	}
}

// TestUnknownCount checks that a loop whose count is in an unreadable file is followed for a few iterations, with
// a note.
func TestUnknownCount(t *testing.T) {
	const src = `
import json
import torch
c = json.load(open("missing.json"))
w = torch.nn.Parameter(torch.zeros(8, device="cuda"))
for i in range(c["steps"]):
    w.sum().backward()
    if i % c["accumulate"] == 0:
        torch.optim.SGD([w]).step()
`
	res := followSource(t, src, nil)
	if res.Backwards == 0 || res.Backwards > 10 {
		t.Errorf("%d backward passes were followed", res.Backwards)
	}
	if len(res.Notes) == 0 {
		t.Error("no note")
	}
}

// TestHostShapes checks the shapes of tensors in host memory.
func TestHostShapes(t *testing.T) {
	const src = `
import torch
freqs = torch.outer(torch.arange(6).float(), torch.arange(4).float())
cos = freqs.cos()[None, None]
a, b = cos.chunk(2, dim=-1)
out = torch.cat([a * b, b], dim=-1).transpose(1, 2).cuda()
p = torch.nn.Parameter(out)
p.sum().backward()
torch.optim.SGD([p]).step()
`
	res := followSource(t, src, nil)
	if len(res.Trained) != 1 {
		t.Fatalf("%d parameters", len(res.Trained))
	}
	if got := sizeOf(res.Trained[0]); len(got) != 4 || got[0] != 1 || got[1] != 6 || got[2] != 1 || got[3] != 4 {
		t.Errorf("shape %v, want [1 6 1 4]", got)
	}
}
