// SPDX-License-Identifier: Apache-2.0

package script

import (
	"testing"

	"snug/internal/kernel"
	"snug/internal/pysrc"
	"snug/internal/shadow"
)

// TestZeroInList checks that an attention mask made from a list with zeros is known to have some.
func TestZeroInList(t *testing.T) {
	for code, want := range map[string]bool{"[[1] * 8 + [0] * 8]": true, "[1, 0]": true, "[[1] * 16]": false} {
		f, err := pysrc.Parse("test.py", []byte("import torch\nx = torch.tensor("+code+")\n"))
		if err != nil {
			t.Fatal(err)
		}
		in := newInterpreter(Run{File: f, World: shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})})
		v, _ := in.module(f, "__main__").vars.get("x")
		if got := in.zeros[v] != 0; got != want {
			t.Errorf("%s: zeros %v, want %v", code, got, want)
		}
	}
}

// TestNamedTuples checks named tuples of both kinds, by the sizes of tensors taken from them.
func TestNamedTuples(t *testing.T) {
	for _, code := range []string{
		"T = namedtuple('T', ('state', 'action'))\nx = T(torch.zeros(100), 1).state",
		"T = namedtuple('T', 'state action', defaults=[1])\nx, _ = T(state=torch.zeros(100))",
		"T = namedtuple('T', 'state, action')\nb = T(*zip(*[T(torch.zeros(50), 1), T(torch.zeros(50), 2)]))\nx = torch.cat(b.state)",
		"class T(NamedTuple):\n    state: torch.Tensor\n    action: int = 1\nx = T(torch.zeros(100))._replace(action=2)[0]",
	} {
		sizes, notes := allocations(t, "import torch\nfrom collections import namedtuple\nfrom typing import NamedTuple\n"+code+"\nx = x.cuda()\n")
		if len(sizes) != 1 || sizes[0] != 400 || len(notes) > 0 {
			t.Errorf("%s: %v, want 400; notes %q", code, sizes, notes)
		}
	}
}
