// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
)

// ownModel is a script that builds its own model and lets its command line set the sizes.
const ownModel = `import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=4)
p.add_argument("--accumulation-steps", type=int, default=1)
a = p.parse_args()
data = TensorDataset(torch.randn(256, 32, 64), torch.randint(0, 10, (256,)))
loader = DataLoader(data, batch_size=a.batch_size)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10)).cuda()
opt = torch.optim.AdamW(model.parameters())
for i, (x, y) in enumerate(loader):
    (F.cross_entropy(model(x.cuda()).mean(1), y.cuda()) / a.accumulation_steps).backward()
    if (i + 1) % a.accumulation_steps == 0:
        opt.step()
        opt.zero_grad()
`

// beyondOwnModels are the flags that are not tried on a script that builds its own model, and why.
var beyondOwnModels = map[string]string{
	"head": "is a different model", "loop": "is a different script", "tokenizer": "needs --lengths", "seed": "needs --lengths", "lengths": "has its own errors for a script",
	"transformers": "is the version of a library that this script does not import", "bitsandbytes": "is the version of a library that this script does not import",
	"limit": "needs a run that reaches it", "allocator": "needs memory that fragments", "torch": "TestNoFieldDoesNothing tries it",
}

// TestNoFlagDoesNothingToAScript checks that every flag of a run has an effect on a script that builds its own model,
// is refused, or is named in a note.
func TestNoFlagDoesNothingToAScript(t *testing.T) {
	folder := t.TempDir()
	writeIn(t, folder, "train.py", ownModel)
	args := []string{"estimate", "--gpu", "H200", "--json"}
	before := shown(t, folder, "", args...)
	for x, flag := range settingFlags() {
		if beyondOwnModels[flag.Name] != "" {
			continue
		}
		values := valuesOf(x, fieldBase{})
		if flag.Means != nil {
			values = []any{true}
		}
		for _, v := range values {
			text := fmt.Sprint(v)
			if words, ok := v.([]string); ok {
				text = strings.Join(words, ",")
			}
			after := shown(t, folder, "", append(slices.Clone(args), "--"+flag.Name+"="+text)...)
			if why := after.idle(before, append(names(x), topOf(x), "autocast")); why != "" {
				t.Errorf("--%s %s: %s", flag.Name, text, why)
			}
		}
	}
}

// TestClippingOfAScript checks that a flag without effect on a script's own clipping is named in a note.
func TestClippingOfAScript(t *testing.T) {
	folder := t.TempDir()
	writeIn(t, folder, "train.py", strings.Replace(ownModel, "        opt.step()", "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        opt.step()", 1))
	before, after := shown(t, folder, "", "estimate", "--gpu", "H200", "--json"), shown(t, folder, "", "estimate", "--gpu", "H200", "--json", "--clip=false")
	if why := after.idle(before, []string{"clip"}); why != "" {
		t.Error(why)
	}
}

// topOf returns the object that contains a setting, such as lora.
func topOf(x *setup.Setting) string {
	top, _, _ := strings.Cut(x.Name, ".")
	return top
}

// TestLengthInOwnKey checks that a script that takes the length of its samples from a key of its own is not said to take
// it from --seq: DATA.length 1024 was "not read; 512 tokens per sample are assumed", with the figure of 1,024.
func TestLengthInOwnKey(t *testing.T) {
	folder := t.TempDir()
	writeIn(t, folder, "sizes/conf.yaml", "batch_size: 4\nDATA:\n  length: 1024\n")
	script := strings.NewReplacer("torch.randn(256, 32, 64)", `torch.randn(256, conf["DATA"]["length"], 64)`,
		"a = p.parse_args()", "p.add_argument(\"--config\", default=\"sizes/conf.yaml\")\na = p.parse_args()\nwith open(a.config) as f:\n    conf = yaml.safe_load(f)", "import torch\n", "import torch\nimport yaml\n").Replace(ownModel)
	writeIn(t, folder, "train.py", script)
	for _, more := range [][]string{nil, {"--seq", "512"}} {
		answer := shown(t, folder, "", append([]string{"estimate", "--gpu", "H200", "--json"}, more...)...)
		notes := fmt.Sprint(answer.notes)
		if strings.Contains(notes, "not read") || strings.Contains(notes, "are assumed") {
			t.Errorf("%q: notes %s", more, notes)
		}
		if len(more) > 0 && !strings.Contains(notes, "seq: no effect") {
			t.Errorf("--seq changes nothing unsaid: %s", notes)
		}
	}
}

// TestLayersThatOnlySelect checks that a network is not refused because layers of it never get gradients, if all of its code
// is followed: an indexer that chooses keys with topk is a small part of a large network, and a large part of a small one.
func TestLayersThatOnlySelect(t *testing.T) {
	folder := t.TempDir()
	writeIn(t, folder, "train.py", `import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.index, self.value = nn.Linear(64, 16), nn.Linear(64, 64)
    def forward(self, x):
        score = self.index(x)
        keep = score >= score.topk(4, -1).values[..., -1:]
        return self.value(x) * keep.any(-1, keepdim=True)
model = Net().cuda()
opt = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.zeros(8, 32, 64, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
`)
	answer := shown(t, folder, "", "estimate", "--gpu", "H200", "--batch", "8", "--json")
	if answer.refused != "" || !strings.Contains(answer.notes, "have no gradient at the first update") {
		t.Errorf("refused %q, notes %q", answer.refused, answer.notes)
	}
}
