// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// allocations follows a script and returns the bytes of each allocation, and the notes.
func allocations(t *testing.T, src string) (sizes []uint64, notes []string) {
	t.Helper()
	return allocationsOf(t, src, Run{})
}

// allocationsOf is allocations with the settings of run.
func allocationsOf(t *testing.T, src string, run Run) (sizes []uint64, notes []string) {
	t.Helper()
	f, err := pysrc.Parse("test.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	w := shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})
	run.World, run.File = w, f
	res, err := Follow(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.Trace.Events {
		if e.Kind == stream.Alloc {
			sizes = append(sizes, e.Size)
		}
	}
	return sizes, res.Notes
}

// TestModules checks that modules are moved as Module._apply does: inner modules first, then parameters, then buffers.
func TestModules(t *testing.T) {
	got, notes := allocations(t, `
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("steps", torch.zeros(5, dtype=torch.long))
        self.body = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4, bias=False))
        self.heads = nn.ModuleDict({"a": nn.LayerNorm(7), "b": nn.Embedding(9, 2)})
        self.unseen = [nn.Linear(100, 100)]

net = Net()
names = [n for n, p in net.named_parameters()]
net.to("cuda")
torch.zeros(len(names), dtype=torch.bool, device="cuda")
names = [n for n in names if n.startswith("heads.")]
torch.zeros(len(names), dtype=torch.bool, device="cuda")
`)
	want := []uint64{8 * 16 * 4, 16 * 4, 16 * 4 * 4, 7 * 4, 7 * 4, 9 * 2 * 4, 3 * 4, 5 * 8, 7, 3}
	if !slices.Equal(got, want) || len(notes) > 0 {
		t.Errorf("got %v, want %v; notes %v", got, want, notes)
	}
}

// TestEvaluation checks that the dropout of inner modules follows train and eval.
func TestEvaluation(t *testing.T) {
	const program = `
import torch
from torch import nn
net = nn.Sequential(nn.ModuleList([nn.Dropout(0.5)])[0], nn.Dropout(0.1))
x = torch.zeros(2, 3, device="cuda")
`
	train, _ := allocations(t, program+"net(x)\n")
	if want := []uint64{24, 6, 24, 6, 24}; !slices.Equal(train, want) {
		t.Errorf("training makes %v, want %v", train, want)
	}
	eval, _ := allocations(t, program+"net.eval()\nnet(x)\n")
	if want := []uint64{24}; !slices.Equal(eval, want) {
		t.Errorf("evaluation makes %v, want %v", eval, want)
	}
}

// TestGradients compares the allocations of functions and their gradients with PyTorch 2.11, as recorded by a
// dispatch mode. x is 4 by 8, y has 4 integers.
func TestGradients(t *testing.T) {
	const program = `
import torch
import torch.nn.functional as F
x = torch.nn.Parameter(torch.zeros(4, 8, device="cuda"))
y = torch.zeros(4, dtype=torch.long, device="cuda")
`
	const all, row, one, root = 128, 16, 4, 4
	for _, c := range []struct {
		code string
		want []uint64
	}{
		{"x.sum().backward()", []uint64{one, root, all}},
		{"x.pow(2).sum().backward()", []uint64{all, one, root, all, all, all}},
		{"x.gather(1, y.unsqueeze(1)).sum().backward()", []uint64{row, one, root, all}},
		{"x.max(1).values.sum().backward()", []uint64{row, 32, one, root, all}},
		{"x.log().sum().backward()", []uint64{all, one, root, all}},
		{"x.sqrt().sum().backward()", []uint64{all, one, root, all, all}},
		{"x.abs().sum().backward()", []uint64{all, one, root, all, all}},
		{"x.std(0).sum().backward()", []uint64{32, one, root, 32, 32, 8, 32, all, 32, all}},
		{"F.cross_entropy(x, y, reduction='none').sum().backward()", []uint64{all, row, one, one, root, all, all}},
		{"F.binary_cross_entropy_with_logits(x, torch.zeros(4, 8, device='cuda')).backward()", []uint64{all, all, all, one, root, all}},
		{"F.binary_cross_entropy(x.sigmoid(), torch.zeros(4, 8, device='cuda')).backward()", []uint64{all, all, all, one, root, all, all}},
		{"F.conv1d(x.view(4, 2, 4), torch.zeros(3, 2, 1, device='cuda')).sum().backward()", nil},
		{"torch.nn.Dropout2d()(x).sum().backward()", []uint64{128, all, one, root, all}},
		{"(x @ x.t()).sum().backward()", nil},
		{"z = x * 2\nz += x\nz.sum().backward()", []uint64{all, one, root, all, all}},
		{"loss = x.mean()\nloss.backward(retain_graph=True)\nloss.backward()", []uint64{one, root, all, root, all}},
	} {
		got, notes := allocations(t, program+c.code+"\n")
		if len(notes) > 0 {
			t.Errorf("%s: notes %v", c.code, notes)
		}
		if c.want != nil && !slices.Equal(got[2:], c.want) {
			t.Errorf("%s makes %v, want %v", c.code, got[2:], c.want)
		}
	}
}

// TestEinsum checks the layout of torch.einsum's result, as in PyTorch 2.11: a copy is made only of one whose dimensions
// are not in order.
func TestEinsum(t *testing.T) {
	sizes := map[rune]string{'b': "2", 'c': "3", 't': "4", 's': "5", 'h': "6", 'n': "7", 'i': "8", 'j': "9", 'd': "10", 'k': "12", 'm': "13"}
	for equation, inOrder := range map[string]bool{
		"bct,bcs->bts": true, "bts,bcs->bct": true, "bhid,bhjd->bhij": true, "bhij,bhjd->bhid": true, "bhij,bhjd->bihd": false, "ij,jk->ki": true, "ij,jk": true,
		"bij,jk->bki": false, "bi,bj->bji": true, "i,j->ij": true, "bij,bj->bi": true, "bnd,kd->bnk": true, "kd,bnd->bnk": true, "bnd,kd->bkn": false,
		"bij,bjk,bkm->bim": true, "bij->bji": false, "bij->bi": true, "ij->": true, "nct,cm->nmt": false, "...ij,...jk->...ik": true, "...c,ck->...k": true, "nc,ck->n": true,
	} {
		terms, _, _ := strings.Cut(equation, "->")
		var operands []string
		for _, term := range strings.Split(terms, ",") {
			size := ""
			for _, c := range strings.ReplaceAll(term, "...", "bh") {
				size += sizes[c] + ", "
			}
			operands = append(operands, "torch.zeros("+size+`device="cuda")`)
		}
		program := fmt.Sprintf("import torch\nx = torch.einsum(%q, %s)\n", equation, strings.Join(operands, ", "))
		before, notes := allocations(t, program)
		after, _ := allocations(t, program+"x = x.contiguous()\n")
		if got := len(after) == len(before); got != inOrder || len(notes) > 0 {
			t.Errorf("%s: in order: %v, notes %v", equation, got, notes)
		}
	}
	for _, equation := range []string{"ii->i", "ij,jk->il", "ij,jk,kl"} {
		if _, notes := allocations(t, fmt.Sprintf("import torch\ntorch.einsum(%q, torch.zeros(4, 4, device='cuda'), torch.zeros(4, 4, device='cuda'))\n", equation)); len(notes) != 1 {
			t.Errorf("%s: notes %v", equation, notes)
		}
	}
}

// TestSort compares allocations with those of the real PyTorch on the stand-in. The first is the argument.
func TestSort(t *testing.T) {
	for _, c := range []struct {
		code string
		want []uint64
	}{
		{"torch.zeros(128, 196, device='cuda').sort(dim=1)", []uint64{100352, 200704, 1568}},
		{"torch.argsort(torch.zeros(128, 196, device='cuda'), dim=1)", []uint64{100352, 200704, 1568}},
		{"torch.sort(torch.zeros(128, 196, device='cuda', dtype=torch.bfloat16), -1, descending=True)", []uint64{50176, 200704, 1568}},
		{"torch.sort(torch.zeros(100000, device='cuda', dtype=torch.int64))", []uint64{800000, 800000, 800000, 1639423}},
		{"torch.sort(torch.zeros(100000, device='cuda'))", []uint64{400000, 800000, 800000, 1228287}},
		{"torch.msort(torch.zeros(300000, device='cuda', dtype=torch.uint8))", []uint64{300000, 2400000, 2400000, 91647}},
		{"torch.sort(torch.zeros(8, 10000, device='cuda', dtype=torch.float16))", []uint64{160000, 640000, 640000, 640000, 160000, 819967, 16895}},
		{"torch.sort(torch.zeros(200, 5000, device='cuda'), dim=1)", []uint64{4000000, 8000000, 8000000, 12000255}},
		{"torch.zeros(5000, 8, device='cuda').sort(0)", []uint64{160000, 320000, 160000, 160000, 320000, 320000, 320000, 160000, 496895, 9727}},
		{"torch.zeros(20, 5000, device='cuda').t().sort(0)", []uint64{400000, 800000, 800000, 800000, 400000, 1228287, 20991}},
		{"torch.zeros(2, 1000000, device='cuda').sort()", []uint64{8000000, 16000000, 8000000, 12200191, 12200191}},
	} {
		got, notes := allocations(t, "import torch\n"+c.code+"\n")
		if !slices.Equal(got[1:], c.want) || len(notes) > 0 {
			t.Errorf("%s makes %v, want %v; notes %v", c.code, got[1:], c.want, notes)
		}
	}
}

// TestChunk checks that chunks have the same sizes as in PyTorch: the last one is smaller.
func TestChunk(t *testing.T) {
	got, notes := allocations(t, `
import torch
x = torch.zeros(10, device="cuda")
parts = [p.clone() for p in x.chunk(4)]
y = x.new_zeros((2,), dtype=torch.float64)
`)
	if want := []uint64{40, 12, 12, 12, 4, 16}; !slices.Equal(got, want) || len(notes) > 0 {
		t.Errorf("got %v, want %v; notes %v", got, want, notes)
	}
}
