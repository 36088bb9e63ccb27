// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var copiedWeights = Rule{
	Code: "SNG107", Name: "copied-weights",
	Title:    "copies of the weights pile up",
	Why:      "copy.deepcopy(model.state_dict()) is a second copy of all weights on the same device. A list that gets one at every evaluation grows by the size of the model each time.",
	Evidence: "Measured on an H200: a copy every 20 steps of a decoder with 480 MiB of weights filled 8 GiB after the 12th.",
	Bad:      "for epoch in range(epochs):\n    train(model)\n    history.append(copy.deepcopy(model.state_dict()))\n",
	Good:     "for epoch in range(epochs):\n    train(model)\n    torch.save(model.state_dict(), f\"epoch{epoch}.pt\")\n",
	check:    checkCopies,
}

func checkCopies(m *module, r *reporter) {
	if !m.ofTraining() {
		return
	}
	for _, f := range m.functions {
		for _, k := range f.keeps {
			if k.sum || !f.copiesWeights(k.value) || k.isBounded() {
				continue
			}
			growing := k.growing()
			if len(growing) == 0 || k.key != nil && !k.countsUp(growing[0]) && !k.countsUp(growing[len(growing)-1]) {
				continue
			}
			if k.fn.feeds[k.container] || !f.trainsSomewhere(growing) {
				continue
			}
			r.add(k.at, "%s gets another copy of all weights here each time; keep only the best one, on the CPU, or save it to a file", k.container).made = []int{k.at.Line}
		}
	}
}

// trainsSomewhere reports whether a loop trains, or calls something that may.
func (f *function) trainsSomewhere(loops []*place) bool {
	for _, loop := range loops {
		if f.trains[loop.stmt] {
			return true
		}
	}
	for _, c := range f.calls {
		if hasWord(last(c.name), "train", "fit", "optimize", "epoch") && c.place.in(loops[len(loops)-1]) {
			return true
		}
	}
	return false
}

// copiesWeights reports whether an expression is a copy of a model or of its state_dict.
func (f *function) copiesWeights(e pysrc.Expr) bool {
	if c, ok := e.(*pysrc.Comprehension); ok && c.Kind == "dict" {
		return gives(c.Value, "clone") && len(c.Clauses) == 1 && anyIn(c.Clauses[0].Iter, func(x pysrc.Expr) bool { return lastOf(x) == "state_dict" }) &&
			!anyIn(c.Value, func(x pysrc.Expr) bool { return lastOf(x) == "cpu" })
	}
	c, ok := e.(*pysrc.Call)
	if !ok || lastOf(c.Func) != "deepcopy" || len(c.Args) != 1 {
		return false
	}
	of := c.Args[0].Value
	if inner, ok := of.(*pysrc.Call); ok {
		on, name := method(inner)
		return name == "state_dict" && !isOptimizer(last(dotted(on)))
	}
	return f.isModel(dotted(of))
}
