// SPDX-License-Identifier: Apache-2.0

package script

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// TestShapes checks shapes of functions that make tensors in host memory, by their size on the card.
func TestShapes(t *testing.T) {
	for code, want := range map[string]uint64{
		"torch.eye(5)":                   100,
		"torch.linspace(0, 1, 6)":        24,
		"torch.normal(0.0, 1.0, (3, 4))": 48,
		"torch.tril_indices(5, 5, -1)":   160,
		"torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')[0]":                                                            96,
		"torch.from_numpy(np.random.default_rng(0).integers(0, 9, 7))":                                                                  56,
		"torch.from_numpy(np.stack([np.random.randn(3), np.ones(3)], axis=1)).float()":                                                  24,
		"torch.from_numpy(np.einsum('m,d->md', np.meshgrid(np.arange(3), np.arange(4))[0].reshape(-1), 1.0 / 10000 ** np.arange(5.0)))": 480,
		"torch.from_numpy(np.expand_dims(np.clip(np.sin(np.arange(5)), 0, 1), 0))":                                                      40,
		"torch.from_numpy(np.random.standard_normal((4, 2)).astype(np.float32))":                                                        32,
		"torch.tensor(torch.randint(0, 9, (6,)).tolist())":                                                                              48,
		"torch.tensor([float(x) for x in torch.rand(6)])":                                                                               24,
		"torch.rand(6, 1, 4).squeeze()":                                                                                                 96,
		"torch.rand(6, 4).unflatten(-1, (2, -1)).movedim(0, 1).narrow(0, 0, 1)":                                                         48,
		"torch.diag(torch.rand(4, 6), 3)":                                                                                               12,
		"torch.rand(4, 6).diagonal(-1).contiguous()":                                                                                    12,
		"torch.rand(4, 20).unfold(-1, 8, 4)":                                                                                            512,
		"torch.rand(3, 4, 5)[:, torch.ones(4, 5) > 0]":                                                                                  240,
		"einops.rearrange(torch.rand(2, 6, 4), 'b (h d) n -> b n (d h)', h=2)":                                                          192,
		"einops.reduce(torch.rand(2, 6, 4), 'b (c d) n -> b c', 'mean', d=2)":                                                           24,
		"einops.repeat(torch.rand(6, 4), '... n -> r ... (n 2)', r=3)":                                                                  576,
		"torch.vstack([torch.rand(3), torch.rand(3)]).tile(2)":                                                                          48,
	} {
		sizes, notes := allocations(t, "import torch\nimport einops\nimport numpy as np\nx = ("+code+").cuda()\n")
		if !slices.Equal(sizes, []uint64{want}) || len(notes) > 0 {
			t.Errorf("%s takes %v on the card, want %d; notes %q", code, sizes, want, notes)
		}
	}
}

// TestLayers checks what a call on a tensor of 2 × 8 × 6 × 6 float32 (2304 bytes) allocates without gradients.
func TestLayers(t *testing.T) {
	for code, want := range map[string][]uint64{
		"nn.LeakyReLU(0.2, inplace=True)(x)":                      nil,
		"nn.GLU(dim=1)(x)":                                        {1152},
		"nn.ReflectionPad2d(1)(x)":                                {2 * 8 * 8 * 8 * 4},
		"nn.ZeroPad2d((1, 0, 0, 0))(x)":                           {2 * 8 * 6 * 7 * 4},
		"nn.MaxPool2d((2, 3), stride=(2, 3))(x)":                  {2 * 8 * 3 * 2 * 4, 2 * 8 * 3 * 2 * 8},
		"nn.MaxPool2d(2, stride=2, padding=1, ceil_mode=True)(x)": {2 * 8 * 4 * 4 * 4, 2 * 8 * 4 * 4 * 8},
		"nn.InstanceNorm2d(8)(x)":                                 {2304, 64, 64},
		"nn.AdaptiveMaxPool2d(2)(x)":                              {256, 512},
		"torch.lerp(x, x, 0.1)":                                   {2304},
		"Rearrange('b (h c) y x -> b h (y x) c', h=2)(x)":         nil,
		"Rearrange('b c y x -> b (y x) c 1')(x)":                  nil,
		"Rearrange('b c y x -> b (y x c)')(x)":                    {2304},
		"x.unfold(2, 3, 3).unfold(3, 3, 3).diagonal(0, 1, 2)":     nil,
		"torch.diag(x[0, 0], -2)":                                 {16},
		"nn.Softsign()(x)":                                        {2304, 2304, 2304},
	} {
		sizes, notes := allocations(t, "import torch\nfrom torch import nn\nfrom einops.layers.torch import Rearrange\nx = torch.rand(2, 8, 6, 6, device='cuda')\nwith torch.no_grad():\n    y = "+code+"\n")
		if !slices.Equal(sizes, append([]uint64{2304}, want...)) || len(notes) > 0 {
			t.Errorf("%s allocates %v, want %v; notes %q", code, sizes[1:], want, notes)
		}
	}
}

// TestInPlaceActivations checks that an activation in place keeps no second copy of its input, and that index_add_ keeps the
// source for backward.
func TestInPlaceActivations(t *testing.T) {
	const program = `
import torch
import torch.nn.functional as F
w = torch.ones(1000, requires_grad=True, device="cuda")
y = %
y.sum().backward()
`
	for code, want := range map[string]int{
		"F.leaky_relu(w * 2, inplace=True)": 4, // w, product, sum, gradients …
		"F.silu(w * 2, inplace=True)":       5,
		"torch.zeros(1000, device='cuda').index_add_(0, torch.arange(1000, device='cuda'), w * 2)": 5,
	} {
		sizes, notes := allocations(t, strings.Replace(program, "%", code, 1))
		n := 0
		for _, s := range sizes {
			if s == 4000 {
				n++
			}
		}
		if n != want || len(notes) > 0 {
			t.Errorf("%s: %d tensors of 4000 bytes, want %d (%v); notes %q", code, n, want, sizes, notes)
		}
	}
}

// TestUpdatesByHand checks that a script without an optimizer has updates, one for each backward pass.
func TestUpdatesByHand(t *testing.T) {
	for _, update := range []string{"p.data.add_(p.grad, alpha=-0.1)", "p -= 0.1 * p.grad"} {
		f, err := pysrc.Parse("test.py", []byte(`
import torch
net = torch.nn.Linear(4, 4).cuda()
for i in range(3):
    net(torch.rand(2, 4).cuda()).sum().backward()
    with torch.no_grad():
        for p in net.parameters():
            `+update+`
    net.zero_grad()
`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := Follow(Run{Batch: 2, World: shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132}), File: f})
		if err != nil {
			t.Fatal(err)
		}
		if res.Updates != 3 || len(res.Trained) != 2 {
			t.Errorf("%s: %d updates of %d parameters, want 3 of 2", update, res.Updates, len(res.Trained))
		}
	}
}

// TestRelativeImports checks names that modules of a package import from each other.
func TestRelativeImports(t *testing.T) {
	files := map[string]string{
		"src.engine":     "from .model import size\nfrom .parts.more import other\nfrom . import model\nfrom .. import top\n",
		"src.model":      "size = 3\n",
		"src.parts.more": "from ..model import size as other\n",
		"top":            "",
	}
	sizes, notes := allocationsOf(t, "import torch\nfrom src.engine import size, other, model\nx = torch.zeros(size, other, model.size).cuda()\n", Run{Import: func(module string) (*pysrc.File, error) {
		src, ok := files[module]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return pysrc.Parse(strings.ReplaceAll(module, ".", "/")+".py", []byte(src))
	}})
	if !slices.Equal(sizes, []uint64{108}) || len(notes) > 0 {
		t.Errorf("allocations %v, notes %q", sizes, notes)
	}
}

// TestRandomLength checks the note on samples of random length.
func TestRandomLength(t *testing.T) {
	_, notes := allocations(t, "import random, torch\nx = torch.randint(0, 9, (random.randint(16, 64),))\n")
	if len(notes) != 1 || !strings.Contains(notes[0], "if lengths vary, the run reserves more") {
		t.Errorf("notes %q", notes)
	}
}
