// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

// backward is one backward pass.
type backward struct {
	*call
	losses []pysrc.Expr // the expressions it starts from
}

// findBackward finds a function's backward passes and the loops that train.
func (f *function) findBackward() {
	for _, c := range f.calls {
		_, name := method(c.Call)
		switch {
		case name == "backward" || name == "manual_backward":
			b := &backward{c, lossesOf(c.Call)}
			f.backs = append(f.backs, b)
			f.marks(c)
		case updates(c.Call):
			f.marks(c)
		case name == "eval" && len(c.Args) == 0 && f.evalCall == nil:
			f.evaluated, f.evalCall = evaluatedModel(c), c
		}
	}
	if len(f.backs) > 0 {
		f.findFeeds()
	}
}

// marks records that the loops around a call train.
func (f *function) marks(c *call) {
	for i, loop := range c.place.loops() {
		f.trains[loop.stmt] = true
		if i == 0 {
			f.steps[loop.stmt] = true
		}
	}
}

// lossesOf returns the losses that a backward pass starts from: loss in loss.backward(),
// scaler.scale(loss).backward() and accelerator.backward(loss).
func lossesOf(c *pysrc.Call) []pysrc.Expr {
	on, _ := method(c)
	if args := positional(c); len(args) > 0 && isEngine(last(dotted(on))) {
		return []pysrc.Expr{args[0]}
	}
	if scaled, ok := on.(*pysrc.Call); ok && len(scaled.Args) > 0 {
		if _, name := method(scaled); name == "scale" {
			return []pysrc.Expr{scaled.Args[0].Value}
		}
	}
	return []pysrc.Expr{on}
}

// isEngine reports whether a name refers to an engine whose backward takes the loss as its argument. A tensor's own
// backward may also have an argument, its gradient.
func isEngine(name string) bool {
	return name == "self" || hasWord(name, "accelerator", "fabric", "engine", "model", "strategy", "trainer", "plugin", "booster", "runner", "optimizer")
}

// updates reports whether a call updates weights: optimizer.step(), scaler.step(optimizer).
func updates(c *pysrc.Call) bool {
	on, name := method(c)
	if name != "step" {
		return false
	}
	receiver := last(dotted(rootOf(on)))
	return isOptimizer(receiver) || hasWord(receiver, "scaler") && len(c.Args) > 0
}

// isOptimizer reports whether a name refers to an optimizer.
func isOptimizer(name string) bool {
	name = strings.ToLower(name)
	short := len(name) >= 3 && strings.HasPrefix("optimizer", name)
	return strings.Contains(name, "optim") || short || strings.HasPrefix(name, "opt_") || strings.HasSuffix(name, "_opt")
}

// findFeeds collects the names from which a loss is computed, directly or through other names.
func (f *function) findFeeds() {
	var todo []string
	add := func(e pysrc.Expr) {
		anyIn(e, func(x pysrc.Expr) bool {
			if name := dotted(x); name != "" && !f.feeds[name] && !isModelName(last(name)) {
				f.feeds[name] = true
				todo = append(todo, name)
			}
			return false
		})
	}
	for _, b := range f.backs {
		for _, e := range b.losses {
			add(e)
			f.addLosses(e)
		}
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, a := range f.assigns[name] {
			add(a.value)
		}
		for _, k := range f.keeps {
			if k.container == name {
				add(k.value)
			}
		}
	}
}

// isStep reports whether a function is one training step, which is called repeatedly.
func (f *function) isStep() bool {
	if f.def == nil {
		return false
	}
	if f.class.isLightning() && f.name == "training_step" {
		return true
	}
	return len(f.backs) > 0
}

// isValidationStep reports whether Lightning calls the function without gradients.
func (f *function) isValidationStep() bool {
	switch f.name {
	case "validation_step", "test_step", "predict_step":
		return f.class.isLightning()
	}
	return false
}

// addLosses records the names that are summands of a loss, but not its divisors or factors.
func (f *function) addLosses(e pysrc.Expr) {
	switch e := e.(type) {
	case *pysrc.Name, *pysrc.Attribute:
		if name := dotted(e); name != "" {
			f.losses[name] = true
		}
	case *pysrc.Subscript:
		f.addLosses(e.X)
	case *pysrc.Unary:
		f.addLosses(e.X)
	case *pysrc.Call:
		if on, _ := method(e); on != nil {
			f.addLosses(on)
		}
	case *pysrc.Binary:
		switch e.Op {
		case "+", "-":
			f.addLosses(e.L)
			f.addLosses(e.R)
		case "*", "/":
			f.addLosses(factor(e))
		}
	}
}

// factor returns the side of a product or quotient that is the loss.
func factor(e *pysrc.Binary) pysrc.Expr {
	if e.Op == "*" && hasWord(lastOf(e.R), "loss") {
		return e.R
	}
	return e.L
}

// evaluatedModel returns the model's name in model.eval() and in model = Model().eval().
func evaluatedModel(c *call) string {
	on, _ := method(c.Call)
	if name := dotted(on); name != "" {
		return name
	}
	if a, ok := c.stmt.(*pysrc.Assign); ok && a.Value == pysrc.Expr(c.Call) && len(a.Targets) == 1 {
		return dotted(a.Targets[0])
	}
	return ""
}
