// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var keptGraph = Rule{
	Code: "SNG101", Name: "kept-graph",
	Title:    "a tensor is kept across steps together with its graph",
	Why:      "A tensor that was computed with gradients holds the graph that made it, and the graph holds the activations of its step unless backward has freed them. A list, dict or attribute that collects these tensors grows by that much in every step.",
	Evidence: "Measured on an H200: validation losses kept with their graphs, batch 8 of 512 tokens on a 6-layer decoder, ran out of 10 GiB within 50 batches; a dict of hidden states grew by 8 MiB a step.",
	Bad:      "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    losses.append(loss)\n",
	Good:     "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    losses.append(loss.item())\n",
	Fixes:    true,
	check:    checkKeptGraphs,
}

func checkKeptGraphs(m *module, r *reporter) {
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if v := k.kept(); !k.sum && v.graph {
				what := "loss.item() or .detach()"
				if v.big {
					what = ".detach().cpu(), or only the numbers you need"
				}
				found := r.add(k.at, "%s keeps this tensor with its graph across steps; keep %s", k.container, what)
				found.made = v.lines
				if !v.big {
					found.edits = f.itemAfter(k.value)
				}
			}
		}
	}
}

var summedLoss = Rule{
	Code: "SNG102", Name: "summed-loss",
	Title:    "losses are summed with their graphs",
	Why:      "A sum of tensors with gradients has its own graph, which holds the graphs of all its terms: nothing from earlier steps is released, and with retain_graph, or if no backward runs, that includes all activations.",
	Evidence: "Measured on an H200: with total += loss and retain_graph=True, batch 8 of 128 tokens on a 4-layer decoder, memory grew by 164 MiB a step, from 519 MiB to 8.5 GiB in 50 steps, and ran out at 10 GiB before the 60th.",
	Bad:      "total = 0\nfor batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    total += loss\n",
	Good:     "total = 0\nfor batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n    total += loss.item()\n",
	Fixes:    true,
	check:    checkSummedLosses,
}

func checkSummedLosses(m *module, r *reporter) {
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if v := k.kept(); k.sum && v.graph && !v.big {
				found := r.add(k.at, "%s sums losses with their graphs, which keeps the graphs of all steps; add loss.item() or loss.detach()", k.container)
				found.made = v.lines
				found.edits = f.itemAfter(k.value)
			}
		}
	}
}

// kept returns the value that is kept across training or evaluation steps, or an unknown value if there is none.
func (k *keep) kept() value {
	if !k.fn.ofTraining() || k.fn.feeds[k.container] || !k.acrossSteps() {
		return value{}
	}
	v := k.fn.value(k.value, k.at, k.place)
	v.big = v.big && !isSmallName(last(k.container))
	if v.known && !v.big && !k.isLocal() && !k.sum && k.place.loop() == nil && k.fn.cleared[last(k.container)] {
		return value{} // only a scalar per step, and the container is emptied after the epoch
	}
	return v
}

// acrossSteps reports whether the container lives through several steps and nothing is removed from it in between.
func (k *keep) acrossSteps() bool {
	if k.isBounded() || k.key != nil && !k.fn.dicts[k.container] {
		return false
	}
	for _, loop := range k.growing() {
		if k.key != nil && !k.countsUp(loop) {
			continue
		}
		if k.fn.trains[loop.stmt] || k.fn.evaluates() {
			return true
		}
	}
	if k.place.loop() == nil || k.fn.isStep() && len(k.growing()) == len(k.place.loops()) {
		return k.key == nil && k.outlivesStep()
	}
	return false
}

// outlivesStep reports whether the function is one step, and the container is neither local to it nor ever emptied.
func (k *keep) outlivesStep() bool {
	if k.isLocal() || !k.fn.isStep() || k.fn.def == nil || k.fn.params[k.container] {
		return false
	}
	return !k.fn.resets(k.container, k.fn.top)
}

// itemAfter returns the edit that appends .item() to a name.
func (m *module) itemAfter(e pysrc.Expr) []edit {
	name, ok := e.(*pysrc.Name)
	if !ok {
		return nil
	}
	end, ok := m.offset(name.Pos)
	if !ok {
		return nil
	}
	end += len(name.ID)
	return []edit{{end, end, ".item()"}}
}
