// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"testing"
)

// TestCollateUnseenRows checks that a collate function that makes tensors of unknown samples gives the model its usual
// input: torch.tensor([r["ids"] for r in rows]) used to have no rows.
func TestCollateUnseenRows(t *testing.T) {
	const data = `from torch.utils.data import DataLoader
from datasets import load_from_disk
def collate(rows):
    x = torch.tensor([r["ids"][:128] for r in rows])
    return {"input_ids": x, "labels": x}
loader = DataLoader(load_from_disk("tokens"), batch_size=64, collate_fn=collate)
`
	step := "for b in loader:\n    loss = model(**{k: v.cuda() for k, v in b.items()}).loss\n    loss.backward()\n    opt.step()\n    opt.zero_grad()\n"
	got, _, err := follow(t, training+data+step)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := follow(t, training+step)
	if err != nil {
		t.Fatal(err)
	}
	if got.Gradients != want.Gradients || len(got.World.Trace.Events) < len(want.World.Trace.Events)*9/10 {
		t.Errorf("%d events and %d bytes of gradients, want about %d and %d", len(got.World.Trace.Events), got.Gradients, len(want.World.Trace.Events), want.Gradients)
	}
}

// TestTransposedConvolution checks the shapes of a U-Net that upsamples with ConvTranspose2d, and that all of it is
// trained: most of it used to have no gradient.
func TestTransposedConvolution(t *testing.T) {
	const network = `import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, 2), nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)])
        self.mix = nn.ModuleList([nn.Conv2d(24, 8, 3, padding=1), nn.Conv2d(12, 2, 3, padding=1)])
        self.pool = nn.MaxPool2d(2)
    def forward(self, x):
        kept = []
        for d in self.down:
            x = d(x)
            kept.append(x)
            x = self.pool(x)
        for up, mix, k in zip(self.up, self.mix, reversed(kept)):
            x = mix(torch.cat([up(x), k], 1))
        return x
net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.zeros(64, 3, 32, 32, device="cuda"), torch.zeros(64, 32, 32, dtype=torch.long, device="cuda")
for _ in range(3):
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    opt.zero_grad()
`
	res, _, err := follow(t, network)
	if err != nil {
		t.Fatal(err)
	}
	const want = (8*3*9 + 8) + (16*8*9 + 16) + (16*8*4 + 8) + (8*4*9 + 4) + (8*24*9 + 8) + (2*12*9 + 2)
	if res.Params != want || res.Gradients != 4*want {
		t.Errorf("%d parameters and %d bytes of gradients, want %d parameters", res.Params, res.Gradients, want)
	}
}

// TestAdversarialNetworks checks that a GAN with PyTorch's BCELoss is followed: it was refused, because it was said to call no model.
func TestAdversarialNetworks(t *testing.T) {
	const gan = `import torch
import torch.nn as nn
g = nn.Sequential(nn.ConvTranspose2d(10, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh()).cuda()
d = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4), nn.Sigmoid()).cuda()
crit = nn.BCELoss()
og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
for _ in range(3):
    d.zero_grad()
    real = torch.zeros(64, 3, 8, 8, device="cuda")
    label = torch.full((64,), 1.0, device="cuda")
    crit(d(real).view(-1), label).backward()
    fake = g(torch.zeros(64, 10, 1, 1, device="cuda"))
    crit(d(fake.detach()).view(-1), label).backward()
    od.step()
    g.zero_grad()
    crit(d(fake).view(-1), label).backward()
    og.step()
`
	if res, notes, err := follow(t, gan); err != nil || res.Backwards == 0 {
		t.Errorf("%v, %q", err, notes)
	}
}
