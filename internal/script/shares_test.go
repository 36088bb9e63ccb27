// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// TestSelectedShares checks how many of 1,000 elements masks with known shares select.
func TestSelectedShares(t *testing.T) {
	const start = "import torch\nx = torch.zeros(10, 100, 256, device='cuda')\nids = torch.zeros(10, 100, dtype=torch.long, device='cuda')\n"
	for text, want := range map[string]uint64{
		"m = torch.rand(ids.shape, device='cuda') < 0.15\n":                                                                   150,
		"m = torch.rand(ids.shape) >= 0.15\nm = m.to('cuda')\n":                                                               850,
		"m = 0.25 > torch.rand_like(x[:, :, 0])\n":                                                                            250,
		"m = torch.bernoulli(torch.full(ids.shape, 0.4)).bool().cuda()\n":                                                     400,
		"m = torch.empty(10, 100, device='cuda').bernoulli_(0.3) == 1\n":                                                      300,
		"a = torch.rand(10, 100, device='cuda') < 0.5\nb = torch.rand(10, 100, device='cuda') < 0.5\nm = a & ~b\n":            250,
		"a = torch.rand(10, 100, device='cuda') < 0.5\nb = torch.rand(10, 100, device='cuda').lt(0.5)\nm = a | b\n":           750,
		"y = ids.clone()\ny[torch.rand(10, 100, device='cuda') < 0.8] = -100\nm = y != -100\n":                                200,
		"y = ids.masked_fill(torch.rand(10, 100, device='cuda') < 0.8, -100)\nm = y.eq(-100)\n":                               800,
		"y = torch.where(torch.rand(10, 100, device='cuda') < 0.8, ids, -100)\nm = y.ne(-100)\n":                              800,
		"p = torch.full(ids.shape, 0.2, device='cuda')\np.masked_fill_(ids == 0, value=0.0)\nm = torch.bernoulli(p).bool()\n": 200,
	} {
		sizes, notes := allocations(t, start+text+"y = x[m]\n")
		if !slices.Contains(sizes, want*256*4) || strings.Contains(strings.Join(notes, "\n"), "mask selects") {
			t.Errorf("%s: no tensor of %d rows among %v; notes %q", text, want, sizes, notes)
		}
	}
}

// TestTails checks how many elements are selected by masks that are true in the last elements of each row.
func TestTails(t *testing.T) {
	const start = "import snug\nimport torch\nx = torch.zeros(8, 100, 256, device='cuda')\nids = torch.zeros(8, 100, dtype=torch.long, device='cuda')\n" +
		"b = {k: v.to('cuda') for k, v in snug.pairs(False).items()}\nm = b['completion_mask']\n"
	for text, want := range map[string]uint64{
		"y = x[m.bool()]\n":               8 * 30,
		"y = x[m == 0]\n":                 8 * 70,
		"y = x[~m.bool()]\n":              8 * 70,
		"y = x[:, 1:][m[:, 1:].bool()]\n": 8 * 30,
		"l = ids.masked_fill(m == 0, -100)\ny = x[:, 1:][l[:, 1:] != -100]\n": 8 * 30,
		"l = ids.clone()\nl[:, :-20] = -100\ny = x[l != -100]\n":              8 * 20,
		"a, _ = m.chunk(2, dim=0)\ny = x[:4][a.bool()]\n":                     4 * 30,
		"y = x[m.index_select(0, torch.arange(8, device='cuda')).bool()]\n":   8 * 30,
	} {
		sizes, notes := allocationsOf(t, start+text, Run{Batch: 4, Seq: 100, Completion: 30})
		if !slices.Contains(sizes, want*256*4) || len(notes) > 0 {
			t.Errorf("%s: no tensor of %d rows among %v; notes %q", text, want, sizes, notes)
		}
	}
	for _, text := range []string{"y = x[:, :-1][m[:, :-1].bool()]\n", "y = x.view(800, 256)[m.view(-1).bool()]\n"} {
		if _, notes := allocationsOf(t, start+text, Run{Batch: 4, Seq: 100, Completion: 30}); len(notes) == 0 {
			t.Errorf("%s: no note", text)
		}
	}
}

// TestUnknownShares checks that masks with unknown contents select everything, with a note.
func TestUnknownShares(t *testing.T) {
	for _, text := range []string{
		"m = ids > 3\n",
		"y = ids.clone()\ny[torch.rand(10, 100, device='cuda') < 0.8] = -100\ny[:, :5] = -100\nm = y != -100\n",
		"m = torch.randn(10, 100, device='cuda') < 0.15\n",
	} {
		sizes, notes := allocations(t, "import torch\nx = torch.zeros(10, 100, 256, device='cuda')\nids = torch.zeros(10, 100, dtype=torch.long, device='cuda')\n"+text+"y = x[m]\n")
		if !slices.Contains(sizes, 1000*256*4) || !strings.Contains(strings.Join(notes, "\n"), "mask selects") {
			t.Errorf("%s: sizes %v, notes %q; want all rows and a note", text, sizes, notes)
		}
	}
}

// TestNoneSelected checks the lower bound for masks with unknown contents: they select one element.
func TestNoneSelected(t *testing.T) {
	f, err := pysrc.Parse("test.py", []byte("import torch\nx = torch.zeros(10, 256, device='cuda')\ny = x[torch.zeros(10, device='cuda') > 3]\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})
	res, err := Follow(Run{World: w, File: f, NoneSelected: true})
	if err != nil || !res.Masks {
		t.Fatalf("%v, %+v; want a result with Masks set", err, res)
	}
	rows := slices.ContainsFunc(w.Trace.Events, func(e stream.Event) bool { return e.Kind == stream.Alloc && e.Size == 256*4 })
	if !rows {
		t.Error("no tensor of one row")
	}
}
