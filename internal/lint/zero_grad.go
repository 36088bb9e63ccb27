// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var zeroGradMissing = Rule{
	Code: "SNG301", Name: "zero-grad-missing",
	Title:    "a training loop never clears its gradients",
	Why:      "backward adds to the existing gradients. Without zero_grad each update uses the sum of all steps so far, and the gradients, as large as the weights, are never released between steps.",
	Evidence: "From PyTorch's documentation of Optimizer.zero_grad; with set_to_none, its default, the gradients' memory is free during the next forward.",
	Bad:      "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n",
	Good:     "for batch in loader:\n    loss = model(batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n",
	check:    checkZeroGrad,
}

func checkZeroGrad(m *module, r *reporter) {
	for _, f := range m.functions {
		if !m.ofTraining() || m.words["LightningModule"] {
			return
		}
		seen := map[pysrc.Stmt]bool{}
		for _, c := range f.calls {
			loop := c.place.loop()
			if loop == nil || seen[loop.stmt] || !updates(c.Call) || f.resets(dotted(c.Func.(*pysrc.Attribute).X), loop) || !f.plainBackward(c, loop) {
				continue
			}
			seen[loop.stmt] = true
			switch {
			case !m.words["zero_grad"] && !m.clearsByHand():
				r.add(c.At(), "this loop updates weights and never clears the gradients; call optimizer.zero_grad() in it")
			case f.clearsOnlyBefore(loop):
				r.add(c.At(), "zero_grad is called before this loop, not in it: the gradients of all steps add up; call it in the loop")
			}
		}
	}
}

// plainBackward reports whether a loop calls loss.backward() and updates weights with one of PyTorch's own
// optimizers, or with one passed to the function. Engines such as DeepSpeed's clear gradients themselves.
func (f *function) plainBackward(step *call, loop *place) bool {
	optimizer := dotted(step.Func.(*pysrc.Attribute).X)
	if hasWord(optimizer, "scaler") && len(step.Args) > 0 {
		optimizer = dotted(step.Args[0].Value)
	}
	if !f.params[optimizer] && !f.makesOptimizer(optimizer) {
		return false
	}
	for _, b := range f.backs {
		if b.place.in(loop) && len(positional(b.Call)) == 0 {
			return true
		}
	}
	return false
}

// makesOptimizer reports whether the file creates a PyTorch optimizer with this name.
func (f *function) makesOptimizer(name string) bool {
	for _, other := range f.functions {
		for _, a := range other.assigns[name] {
			if c, ok := a.value.(*pysrc.Call); ok && hasWord(other.imported(c.Func), "torch.optim.") {
				return true
			}
		}
	}
	return false
}

// clearsByHand reports whether gradients are cleared without zero_grad.
func (m *module) clearsByHand() bool {
	for _, f := range m.functions {
		for name := range f.assigns {
			if last(name) == "grad" {
				return true
			}
		}
	}
	return m.words["zero_"] || m.words["zero_gradients"] || m.words["autograd"]
}

// clearsOnlyBefore reports whether all zero_grad calls in the file come before the loop, in the same function and
// outside any loop.
func (f *function) clearsOnlyBefore(loop *place) bool {
	cleared := false
	for _, other := range f.functions {
		for _, c := range other.calls {
			if _, name := method(c.Call); name != "zero_grad" {
				continue
			}
			if other != f || c.place.loop() != nil || !before(c.At(), loop.stmt.At()) {
				return false
			}
			cleared = true
		}
	}
	return cleared && len(loop.loops()) == 1
}

var zeroGradMisplaced = Rule{
	Code: "SNG302", Name: "zero-grad-misplaced",
	Title:    "gradients are cleared between backward and step",
	Why:      "zero_grad after backward and before step throws away the gradients that step would use: the weights do not change, or only by momentum and weight decay.",
	Evidence: "From PyTorch's documentation: step skips parameters whose gradient is None.",
	Bad:      "loss.backward()\noptimizer.zero_grad()\noptimizer.step()\n",
	Good:     "optimizer.zero_grad()\nloss.backward()\noptimizer.step()\n",
	check:    checkMisplaced,
}

func checkMisplaced(m *module, r *reporter) {
	for _, f := range m.functions {
		blocks := map[*place][]*call{}
		for _, c := range f.calls {
			if s, ok := c.stmt.(*pysrc.ExprStmt); ok && s.X == pysrc.Expr(c.Call) {
				blocks[c.place] = append(blocks[c.place], c)
			}
		}
		for _, calls := range blocks {
			f.misplaced(calls, r)
		}
	}
}

// misplaced looks for a misplaced zero_grad among the calls of one block, in order.
func (f *function) misplaced(calls []*call, r *reporter) {
	back := false
	var cleared *call
	for _, c := range calls {
		on, name := method(c.Call)
		switch {
		case name == "backward":
			back, cleared = true, nil
		case name == "zero_grad" && back:
			cleared = c
		case updates(c.Call):
			if cleared != nil && dotted(cleared.Func) == dotted(on)+".zero_grad" {
				r.add(cleared.At(), "this clears the gradients before %s uses them; call it before backward or after step", dotted(c.Func))
			}
			back, cleared = false, nil
		}
	}
}
