// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"
)

// TestHostileContainers checks that lists that contain each other, and nested modules, are followed or refused
// quickly, without walking along every path.
func TestHostileContainers(t *testing.T) {
	const doubled = "s, r = [1], [1]\nfor i in range(60):\n    s = [s, s]\n    r = [r, r]\n"
	const wraps = "from torch import nn\nclass W(nn.Module):\n    def __init__(self, old):\n        super().__init__()\n        self.old = old\n    def forward(self, x):\n        return self.old(x)\n"
	for name, tt := range map[string]struct{ code, want string }{
		"an argument":         {doubled + "somewhere.f(s)\n", ""},
		"compared":            {doubled + "if s == r:\n    pass\n", ""},
		"put into another":    {doubled + "r.append(s)\n", ""},
		"stacked":             {doubled + "torch.stack(s)\n", "lists of more than"},
		"stacked on the host": {strings.Replace(doubled, "[1], [1]", "[torch.ones(2)], [1]", 1) + "torch.stack(s)\n", "lists of more than"},
		"labels of a batch that a tokenizer makes": {"tok = somewhere.tokenizer()\ndef collate(rows):\n    b = tok([r['text'] for r in rows], return_tensors='pt')\n    b['labels'] = b['input_ids'].clone()\n    return b\ncollate([])\n", ""},
		"a cycle of long lists":                    {"x, y = [], [0] * 3000\ny.append(x)\nx.append(y)\nsomewhere.f(x)\n", "contains itself"},
		"a long list of weights":                   {"from torch import nn\nr = nn.LSTM(4, 4, num_layers=10**9)\n", "statements"},
		"a layer wrapped often":                    {wraps + "for i in range(3000):\n    model.transformer.h[0].mlp = W(model.transformer.h[0].mlp)\n", "modules are nested more than"},
		"operands with tensors":                    {"a, b = [{1: torch.ones(2)}], [1]\nc = a + b * 2\nd = (a, 1) < (b, 2)\ne = a - b\n", ""},
		"unknown in unknown":                       {"import somewhere\na, b = somewhere.a(), somewhere.b()\na[0] = b[1]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := follow(t, training+tt.code+strings.Replace(batches, "%s", "", 1))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
