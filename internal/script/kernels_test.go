// SPDX-License-Identifier: Apache-2.0

package script

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestAllocations compares a few lines with the allocations of the real PyTorch on the stand-in.
func TestAllocations(t *testing.T) {
	const program = "import torch, torch.nn as nn, torch.nn.functional as F\nfrom torch.nn.utils.parametrizations import weight_norm\n"
	for name, c := range map[string]struct {
		code string
		want []uint64
	}{
		"weight norm": {
			"v = torch.zeros(16, 8, device='cuda', requires_grad=True)\ng = torch.zeros(16, 1, device='cuda', requires_grad=True)\ntorch._weight_norm(v, g, 0).sum().backward()\n",
			[]uint64{512, 64, 512, 64, 4, 4, 512, 512, 64},
		},
		"a convolution with weight norm": {
			"m = weight_norm(nn.Conv1d(4, 6, 3)).cuda()\nm(torch.zeros(2, 4, 10, device='cuda'))\n",
			[]uint64{24, 288, 24, 320, 288, 24, 384},
		},
		"counts": {"x = torch.bincount(torch.zeros(1000, dtype=torch.long, device='cuda'), minlength=361).view(19, 19).diag()\n", []uint64{8000, 8, 8, 2888, 152}},
		"relu into a view": {
			"x = torch.zeros(2, 4, 8, 8, device='cuda', requires_grad=True)\nF.relu(F.instance_norm(x), inplace=True).sum().backward()\n",
			[]uint64{2048, 2048, 32, 32, 4, 4, 2048, 2048, 2048, 2048, 2048},
		},
		"leaky relu into a view": {
			"x = torch.zeros(2, 4, 8, 8, device='cuda', requires_grad=True)\nF.leaky_relu((x * 2).view(2, 4, 64), 0.2, inplace=True).sum().backward()\n",
			[]uint64{2048, 2048, 4, 4, 2048, 2048, 2048, 2048, 2048},
		},
		"relu in place without gradients":      {"x = F.relu(torch.zeros(16, device='cuda'), inplace=True)\n", []uint64{64}},
		"the convolution of a permuted signal": {"F.conv1d(torch.zeros(2, 8, 16, device='cuda').transpose(1, 2), torch.zeros(4, 16, 3, device='cuda'))\n", []uint64{1024, 768, 1024, 192}},
		"a transposed convolution that is not square": {
			"m = nn.ConvTranspose2d(1, 1, (3, 8), stride=(1, 4), padding=(1, 2)).cuda()\nm(torch.zeros(2, 1, 5, 7, device='cuda'))\n",
			[]uint64{96, 4, 280, 1120},
		},
	} {
		got, notes := allocationsOf(t, program+c.code, Run{Batch: 2})
		if strings.Contains(name, "convolution") { // its workspace comes last; the stand-in needs none
			got = got[:len(c.want)]
		}
		if !slices.Equal(got, c.want) || len(notes) > 0 {
			t.Errorf("%s makes %v, want %v; notes %v", name, got, c.want, notes)
		}
	}
}

// TestHooked checks json.load's object_hook.
func TestHooked(t *testing.T) {
	const program = "import json, torch\nfrom types import SimpleNamespace\nhp = json.load(open('hp.json'), object_hook=lambda d: SimpleNamespace(**d))\nx = torch.zeros(hp.net.width, hp.more[0].n, device='cuda')\n"
	read := func(name string) (string, error) {
		if name != "hp.json" {
			return "", fs.ErrNotExist
		}
		return `{"net": {"width": 4}, "more": [{"n": 5}]}`, nil
	}
	if got, notes := allocationsOf(t, program, Run{Read: read}); !slices.Equal(got, []uint64{80}) || len(notes) > 0 {
		t.Errorf("got %v, notes %v", got, notes)
	}
}

// TestRandomChoices compares a seeded generator with Python's.
func TestRandomChoices(t *testing.T) {
	const program = `
import random, torch
lengths = {}
for seed, want in SEEDS:
    r = random.Random(seed)
    w = "abcdefghij"
    got = r.choice(w)
    r.randint(1, 100), r.randrange(5)
    got += "".join(r.choices(w, k=6))
    r.random()
    got += "".join(r.sample(list(w), 4))
    l = list(w)
    r.shuffle(l)
    r.getrandbits(40), r.uniform(1, 2)
    got += "".join(l)
    r.sample(list(range(1000)), 3)
    got += r.choice(w) + r.choice(w) + r.choice(w)
    x = torch.zeros(1 if got == want else 2, device="cuda")
`
	seeds := `[(11, "heibiegheca` + `hjcbefdgaidja"), (0, "gajejijdich` + `jadigfhebcibf"), (-5, "jhjhjaeacbi` + `icfbjaegdhcbc"), (1099511627779, "difdgeefeic` + `cbjdegaifhide")]`
	got, notes := allocations(t, strings.Replace(program, "SEEDS", seeds, 1))
	if !slices.Equal(got, []uint64{4, 4, 4, 4}) || len(notes) > 0 {
		t.Errorf("got %v, notes %v", got, notes)
	}
}

// TestLongLoops checks that a loop with a known condition runs to its end, and that a list has its real length.
func TestLongLoops(t *testing.T) {
	for code, want := range map[string]uint64{
		"i = 0\nwhile i < 1000:\n    i += 1\nx = torch.zeros(i, device='cuda')\n":                                4000,
		"import random\nr = random.Random(1)\nx = torch.tensor([r.randrange(9) for _ in range(50000)]).cuda()\n": 400000,
		"while True:\n    if unseen():\n        break\nx = torch.zeros(3, device='cuda')\n":                      12,
	} {
		if got, _ := allocations(t, "import torch\n"+code); !slices.Equal(got, []uint64{want}) {
			t.Errorf("%s: got %v, want %d", code, got, want)
		}
	}
}

// TestListsOfConfig checks that lists in a configuration keep their numbers.
func TestListsOfConfig(t *testing.T) {
	got, _ := allocations(t, "import torch\nfrom transformers import SegformerConfig\nc = SegformerConfig(depths=[3, 4, 6, 3], hidden_sizes=(64, 128))\nx = torch.zeros(c.depths[2], c.hidden_sizes[1], device='cuda')\n")
	if !slices.Equal(got, []uint64{6 * 128 * 4}) {
		t.Errorf("got %v", got)
	}
}

// TestGrowingLoop checks that a short loop whose buffer grows is followed until the buffer is full.
func TestGrowingLoop(t *testing.T) {
	const program = `
import torch
w = torch.zeros(4, device="cuda", requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
kept = []
for i in range(STEPS):
    (w * 2).sum().backward()
    opt.step()
    opt.zero_grad()
    if len(kept) < 12:
        kept.append(torch.zeros(1 << 20, device="cuda"))
`
	for steps, want := range map[string]int{"8": 8, "60": 12} {
		got, _ := allocations(t, strings.Replace(program, "STEPS", steps, 1))
		got = slices.DeleteFunc(got, func(n uint64) bool { return n != 4<<20 })
		if len(got) != want {
			t.Errorf("%s steps: %d tensors are kept, want %d", steps, len(got), want)
		}
	}
}
