// SPDX-License-Identifier: Apache-2.0

package lint

import "testing"

// TestKeeper checks that a tensor created on one line is traced to the line that keeps it.
func TestKeeper(t *testing.T) {
	const loop = "import torch\nlosses, total = [], 0\nfor batch in loader:\n" +
		"    out = model(\n        batch,\n    )\n    loss = criterion(out, batch)\n    loss.backward()\n    optimizer.step()\n"
	for _, c := range []struct {
		name, src  string
		line, want int // want is 0 if the line is unknown
	}{
		{"sum", loop + "    total += loss\n", 7, 10},
		{"made in several lines", loop + "    total += loss\n", 5, 10},
		{"list of outputs", loop + "    losses.append(loss.item())\n    kept.append(out)\n", 4, 11},
		{"nothing is kept", loop + "    losses.append(loss.item())\n", 7, 0},
		{"a hook keeps what the model makes", "import torch\nkept = []\ndef hook(m, i, o):\n    kept.append(o)\nlayer.register_forward_hook(hook)\nmodel(x)\n", 6, 4},
		{"not Python", "for x in", 1, 0},
	} {
		got, ok := Keeper([]byte(c.src), c.line)
		if got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: line %d, %v; want %d", c.name, got, ok, c.want)
		}
	}
}

// TestKept checks which lines count as keeping a tensor of every training step.
func TestKept(t *testing.T) {
	const loop = "import torch\nmodel = Net().cuda()\nkept = []\nfor batch in loader:\n    out = model(batch)\n    loss = criterion(out, batch)\n    loss.backward()\n    optimizer.step()\n"
	const evaluation = "with torch.no_grad():\n    for batch in val_loader:\n        scores.append(model(batch))\n"
	for _, c := range []struct {
		name, src string
		want      int // 0 means no line
	}{
		{"outputs", loop + "    kept.append(out)\n", 9},
		{"numbers", loop + "    kept.append(loss.item())\n", 0},
		{"an evaluation", loop + evaluation, 0},
		{"not Python", "for x in", 0},
	} {
		got := 0
		if found := Kept([]byte(c.src)); len(found) > 0 {
			got = found[0].Line
		}
		if got != c.want {
			t.Errorf("%s: line %d, want %d", c.name, got, c.want)
		}
	}
}
