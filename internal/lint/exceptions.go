// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

var retriedInHandler = Rule{
	Code: "SNG108", Name: "retried-in-handler",
	Title:    "a step is retried inside the except clause",
	Why:      "While an except clause runs, the exception holds its traceback, the traceback holds the frames, and the frames hold the tensors of the step that failed. A retry inside the clause has to fit next to them. Leave the clause first, then retry.",
	Evidence: "Measured on an H200: half the batch, retried inside the clause, ran out of the same 16 GiB.",
	Bad:      "try:\n    train_step(batch)\nexcept torch.OutOfMemoryError:\n    train_step(batch[: len(batch) // 2])\n",
	Good:     "failed = False\ntry:\n    train_step(batch)\nexcept torch.OutOfMemoryError:\n    failed = True\nif failed:\n    train_step(batch[: len(batch) // 2])\n",
	check:    checkRetries,
}

func checkRetries(m *module, r *reporter) {
	if !m.ofTraining() {
		return
	}
	for _, f := range m.functions {
		f.keptExceptions(r)
		seen := map[*place]bool{}
		for _, c := range f.calls {
			h := c.place.inHandler()
			if h == nil || seen[h] || !f.handlesOOM(h) || c.place.loops() != nil && c.place.loop().in(h) && len(c.Args) == 0 {
				continue
			}
			if f.retries(c, h) {
				seen[h] = true
				r.add(c.At(), "this retry runs while the exception still holds the tensors of the failed step; leave the except clause first, then retry").made = []int{c.At().Line}
			}
		}
	}
}

// handlesOOM reports whether an except clause handles running out of memory.
func (f *function) handlesOOM(h *place) bool {
	if anyIn(h.handler.Type, func(x pysrc.Expr) bool { return lastOf(x) == "OutOfMemoryError" }) {
		return true
	}
	if !anyIn(h.handler.Type, func(x pysrc.Expr) bool { return lastOf(x) == "RuntimeError" }) {
		return false
	}
	for _, s := range f.stmts {
		if test, ok := s.Stmt.(*pysrc.If); ok && s.place.in(h) && saysOutOfMemory(test.Test) {
			return true
		}
	}
	return false
}

func saysOutOfMemory(e pysrc.Expr) bool {
	return anyIn(e, func(x pysrc.Expr) bool {
		s, ok := text(x)
		return ok && hasWord(s, "out of memory")
	})
}

// retries reports whether a call in an except clause repeats what the try did: it runs the model, or calls one of the
// file's functions that the try also called.
func (f *function) retries(c *call, h *place) bool {
	name := dotted(c.Func)
	if name == "" || hasWord(name, "empty_cache", "print", "log", "warn", "zero_grad", "collect", "synchronize", "super") {
		return false
	}
	plain := !strings.Contains(strings.TrimPrefix(name, "self."), ".")
	elsewhere := plain && !f.defined[last(name)] && hasWord(last(name), "step", "train", "forward")
	if f.modelCall(c.Call) == "" && !f.isStepFunction(last(name)) && !elsewhere {
		return false
	}
	for _, other := range f.calls {
		inTry := other.place.depth >= h.depth && sameTry(other.place, h)
		if inTry && dotted(other.Func) == name {
			return true
		}
	}
	return false
}

// isStepFunction reports whether a function in this file runs a model.
func (f *function) isStepFunction(name string) bool {
	if !f.defined[name] && !f.words[name] {
		return false
	}
	for _, other := range f.functions {
		if other.def == nil || other.name != name {
			continue
		}
		for _, c := range other.calls {
			if other.modelCall(c.Call) != "" {
				return true
			}
		}
	}
	return false
}

// sameTry reports whether a place is in the try block of a handler.
func sameTry(p, h *place) bool {
	for q := p; q != nil && q.depth >= h.depth; q = q.outer {
		if q.stmt == h.stmt && q.handler == nil {
			return true
		}
	}
	return false
}

// keptExceptions reports code that keeps a step's exceptions: errors.append(e), last_error = e.
func (f *function) keptExceptions(r *reporter) {
	report := func(at pysrc.Pos, value pysrc.Expr, p *place) {
		h := p.inHandler()
		if h == nil || h.handler.Name == "" || dotted(value) != h.handler.Name || h.loop() == nil || !f.stepsInTry(h) {
			return
		}
		r.add(at, "the exception kept here holds the tensors of the failed step; keep str(%s)", h.handler.Name).made = []int{at.Line}
	}
	for _, k := range f.keeps {
		report(k.at, k.value, k.place)
	}
	for _, list := range f.assigns {
		for _, a := range list {
			report(a.at, a.value, a.place)
		}
	}
}

// stepsInTry reports whether a handler's try block runs a model or a backward pass.
func (f *function) stepsInTry(h *place) bool {
	for _, c := range f.calls {
		_, name := method(c.Call)
		if (name == "backward" || f.modelCall(c.Call) != "" || f.isStepFunction(last(dotted(c.Func)))) && sameTry(c.place, h) {
			return true
		}
	}
	return false
}
