// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// TestNames checks settings that a script reaches by name, and idioms around them. Each text allocates one tensor of
// 4,000 bytes.
func TestNames(t *testing.T) {
	for _, text := range []string{
		"n = 3\nglobals()['n'] = type(globals()['n'])('1000')\nx = torch.zeros(n, device='cuda')\n",
		"n = 3\nglobals().update(dict(n=1000))\nx = torch.zeros(n, device='cuda')\n",
		"n = 3\nexec('n = 1000')\nx = torch.zeros(n, device='cuda')\n",
		"from ast import literal_eval\nx = torch.zeros(literal_eval('1000'), device='cuda')\n",
		"class A:\n    def __init__(self):\n        self.__dict__.update(n=1000)\nx = torch.zeros(A().n, device='cuda')\n",
		"from dataclasses import dataclass\n@dataclass\nclass A:\n    m: int = 7\n    n: int = 1000\nd = A().__dict__\nx = torch.zeros(d['n'], device='cuda')\n",
		"from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int = 10\n    m: int = 100\nx = torch.zeros(*vars(A()).values(), device='cuda')\n",
		"from collections import deque\nd = deque(maxlen=2)\nfor k in range(5):\n    d.append(k)\nx = torch.zeros(500 * len(d), device='cuda')\n",
		"import numpy as np\nx = torch.zeros(int(np.sqrt(1_000_000)), device='cuda')\n",
		"torch.set_default_device('cuda')\nx = torch.zeros(1000, device=None)\n",
		"x = torch.zeros(10, 100).flatten(-2).cuda()\n",
		"import torch.nn as nn\nm = nn.Identity()\nm.register_forward_hook(lambda m, a, out: out.cuda())\nx = m(torch.zeros(1000))\n",
		"import torch.nn as nn\nm = nn.Identity()\nh = m.register_forward_pre_hook(lambda m, a: (a[0].cuda(),))\nx = m(torch.zeros(1000))\nh.remove()\ny = m(torch.zeros(1000))\n",
		"import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=lambda s: [int(v) for v in s.split('x')], default='10x100')\nx = torch.zeros(*p.parse_args().n, device='cuda')\n",
	} {
		sizes, notes := allocations(t, "import torch\n"+text)
		if !slices.Equal(sizes, []uint64{4000}) || len(notes) > 0 {
			t.Errorf("%s: allocations %v, notes %q", text, sizes, notes)
		}
	}
}

// TestChoices checks that the choices of a model are spread evenly, with a note: each of 8 experts gets an eighth of 1,000.
func TestChoices(t *testing.T) {
	for _, text := range []string{
		"m = p.argmax(-1) == 3\nn = torch.where(m)[0]\n",
		"m = torch.argmax(p, dim=-1) == 3\nn = m.nonzero()\n",
		"m = torch.topk(p, 1, dim=-1)[1].squeeze(-1) == 3\nn = torch.nonzero(m, as_tuple=True)[0]\n",
		"m = torch.multinomial(p, 1).view(-1) == 3\nn = torch.nonzero(m)\n",
	} {
		sizes, notes := allocations(t, "import torch\np = torch.zeros(1000, 8, device='cuda')\n"+text)
		if !slices.Contains(sizes, 125*8) || !strings.Contains(strings.Join(notes, "\n"), "spread evenly") {
			t.Errorf("%s: allocations %v, notes %q", text, sizes, notes)
		}
	}
}

// TestUnsimulatedGradients checks that gradients that would be counted wrongly are refused.
func TestUnsimulatedGradients(t *testing.T) {
	for want, text := range map[string]string{
		"sparse gradients are not simulated": "b = nn.EmbeddingBag(10, 4, sparse=True).cuda()\nb(torch.zeros(5, 2, dtype=torch.long, device='cuda'))\n",
		"weights are computed":               "w = nn.Parameter(torch.zeros(8, 3, 3, 3, device='cuda'))\nx = torch.zeros(2, 3, 8, 8, device='cuda', requires_grad=True)\ny = nn.functional.conv2d(x, w * 2).sum()\ntorch.autograd.grad(y, x, create_graph=True)\n",
	} {
		f, err := pysrc.Parse("x.py", []byte("import torch\nfrom torch import nn\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Follow(Run{World: shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132}), File: f})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
