// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var evaluationWithGraph = Rule{
	Code: "SNG201", Name: "evaluation-with-graph",
	Title:    "evaluation runs with gradients",
	Why:      "model.eval() switches off dropout, not autograd. Without torch.no_grad() or torch.inference_mode() each forward pass keeps its activations until its output is freed, as in training.",
	Evidence: "Measured on an H200: a validation loop without no_grad that keeps its losses ran out of 10 GiB within 50 batches of 8 × 512 tokens, a size at which the 6-layer decoder had trained.",
	Bad:      "def evaluate(model, loader):\n    model.eval()\n    for batch in loader:\n        total += model(batch).loss.item()\n",
	Good:     "@torch.no_grad()\ndef evaluate(model, loader):\n    model.eval()\n    for batch in loader:\n        total += model(batch).loss.item()\n",
	check:    checkEvaluation,
}

func checkEvaluation(m *module, r *reporter) {
	for _, f := range m.functions {
		if !f.evaluates() && !f.alsoEvaluates() {
			continue
		}
		if c := f.forwardWithGraph(); c != nil {
			r.add(c.At(), "this forward pass of an evaluation records gradients; wrap it in torch.no_grad() or torch.inference_mode()").made = []int{c.At().Line}
		}
	}
}

// evaluates reports whether a function calls eval() or is named like an evaluation, and neither it nor its callers
// in this file disable gradients, so that its forward passes build graphs needlessly.
func (f *function) evaluates() bool {
	if f.evalCall == nil && !f.isEvaluation() || f.gradless || f.top.gradless || len(f.backs) > 0 || len(f.trains) > 0 || !f.ofTraining() {
		return false
	}
	for word := range f.words {
		if hasWord(word, "grad", "backward", "inference_mode", "attack", "jit", "onnx", "export", "optimizer") {
			return false
		}
	}
	if f.def == nil {
		return !f.module.words["backward"] && !f.module.words["no_grad"] && !f.module.words["inference_mode"]
	}
	return !f.calledWithout()
}

// alsoEvaluates reports whether a function both trains and calls eval(), and contains no word that suggests that it
// switches gradients off or needs them in the evaluation.
func (f *function) alsoEvaluates() bool {
	if f.evalCall == nil || len(f.trains) == 0 || f.gradless || f.top.gradless || !f.ofTraining() {
		return false
	}
	for word := range f.words {
		if word == "grad" || hasWord(word, "no_grad", "grad_enabled", "enable_grad", "autograd", "requires_grad", "inference_mode", "attack", "jit", "onnx", "export") {
			return false
		}
	}
	return f.def == nil || !f.calledWithout()
}

// calledWithout reports whether the function is called with gradients switched off, or has a decorator that may
// switch them off.
func (f *function) calledWithout() bool {
	for _, d := range f.def.Decorators {
		if c, ok := d.(*pysrc.Call); ok {
			d = c.Func
		}
		switch lastOf(d) {
		case "staticmethod", "classmethod":
		default:
			return true
		}
	}
	return f.quiet[f.name]
}

// isEvaluation reports whether a function outside any class is named like an evaluation.
func (f *function) isEvaluation() bool {
	switch f.name {
	case "evaluate", "validate", "validation", "evaluation", "eval_epoch", "validate_epoch", "eval_loop", "validation_loop", "evaluate_model", "eval_model":
		return f.class == nil
	}
	return false
}

// forwardWithGraph returns the first call of the evaluated model that is in a loop and records gradients.
func (f *function) forwardWithGraph() *call {
	for _, c := range f.calls {
		loop, model := c.place.loop(), f.modelCall(c.Call)
		if model == "" || c.place.gradless || loop == nil || f.evalCall != nil && (model != f.evaluated || before(c.At(), f.evalCall.At())) {
			continue
		}
		if f.trains[loop.stmt] || len(f.trains) > 0 && before(loop.stmt.At(), f.evalCall.At()) {
			continue // a loop that trains, or one around eval(), whose first iterations may train
		}
		if isFrozenName(model) {
			return nil
		}
		if f.trainsAgain(model, c.At()) || f.resets(model, loop) {
			return nil
		}
		return c
	}
	return nil
}

// trainsAgain reports whether model.train() is called between eval() and a position.
func (f *function) trainsAgain(model string, at pysrc.Pos) bool {
	if f.evalCall == nil {
		return false
	}
	for _, c := range f.calls {
		on, name := method(c.Call)
		if name == "train" && dotted(on) == model && before(f.evalCall.At(), c.At()) && before(c.At(), at) {
			return true
		}
	}
	return false
}

// evaluatesHere reports whether a place records no gradients, or is in a function that evaluates.
func (f *function) evaluatesHere(p *place) bool {
	return p.gradless || f.gradless || f.isValidationStep()
}
