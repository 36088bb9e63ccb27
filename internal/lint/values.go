// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// value is what is known about an expression. Only tensors that come from a model or a loss are tracked; rules
// ignore all others.
type value struct {
	known bool
	graph bool  // has an autograd graph
	big   bool  // larger than a scalar
	host  bool  // in host memory
	lines []int // lines where the value was created
}

// deepest is the maximum number of names and operations to trace back.
const deepest = 24

// values traces a function's expressions back to where their tensors were created.
type values struct {
	f     *function
	at    pysrc.Pos // the position of the use; later assignments are ignored
	depth int
	work  *int // limits the total work: names that refer to each other would take exponential time
}

// value returns what is known about an expression at a place.
func (f *function) value(e pysrc.Expr, at pysrc.Pos, p *place) value {
	work := 400
	return values{f, at, 0, &work}.of(e, p)
}

func (v values) of(e pysrc.Expr, p *place) value {
	v.depth++
	*v.work--
	if v.depth > deepest || *v.work < 0 {
		return value{}
	}
	switch e := e.(type) {
	case *pysrc.Name, *pysrc.Attribute:
		return v.named(e, p)
	case *pysrc.Subscript:
		return v.item(e, p)
	case *pysrc.Call:
		return v.call(e, p)
	case *pysrc.Binary:
		return join(v.of(e.L, p), v.of(e.R, p))
	case *pysrc.Unary:
		if e.Op == "-" {
			return v.of(e.X, p)
		}
	case *pysrc.Conditional:
		return join(v.of(e.Then, p), v.of(e.Else, p))
	case *pysrc.Tuple:
		return v.all(e.Elts, p)
	case *pysrc.List:
		return v.all(e.Elts, p)
	case *pysrc.Dict:
		return v.all(e.Values, p)
	case *pysrc.Starred:
		return v.of(e.X, p)
	}
	return value{}
}

func (v values) all(list []pysrc.Expr, p *place) value {
	var out value
	for i, e := range list {
		if i == 0 {
			out = v.of(e, p)
		} else {
			out = join(out, v.of(e, p))
		}
	}
	return out
}

// join returns the value of an expression that combines two values: whatever is known about either applies to the
// result.
func join(a, b value) value {
	switch {
	case !a.known:
		return b
	case !b.known:
		return a
	}
	return value{true, a.graph || b.graph, a.big || b.big, a.host && b.host, slices.Concat(a.lines, b.lines)}
}

// named returns the value of x or x.y.
func (v values) named(e pysrc.Expr, p *place) value {
	name := dotted(e)
	if name == "" {
		a, ok := e.(*pysrc.Attribute)
		if !ok {
			return value{}
		}
		return attribute(v.of(a.X, p), a)
	}
	if a := v.f.assignedBefore(name, v.at); a != nil {
		return v.assigned(a, name)
	}
	if a, ok := e.(*pysrc.Attribute); ok {
		if of := v.of(a.X, p); of.known {
			return attribute(of, a)
		}
	}
	if v.f.losses[name] && !p.gradless && v.f.params[name] {
		return value{known: true, graph: true, lines: []int{e.At().Line}}
	}
	return value{}
}

// assignedBefore returns the last assignment before a position.
func (f *function) assignedBefore(name string, at pysrc.Pos) *assign {
	list := f.assigns[name]
	n, _ := slices.BinarySearchFunc(list, at, func(a *assign, at pysrc.Pos) int {
		if before(a.at, at) {
			return -1
		}
		return 1
	})
	for n--; n >= 0; n-- {
		if list[n].op == "" {
			return list[n]
		}
	}
	return nil
}

// assigned returns the value that an assignment gives to a name.
func (v values) assigned(a *assign, name string) value {
	v.at = a.at
	out := value{}
	if a.value != nil {
		out = v.of(a.value, a.place)
	}
	isIndex := a.element == 1 && returnsIndices(a.value)
	if isIndex {
		return value{}
	}
	if !out.known && !a.place.gradless && a.value != nil && v.f.losses[name] && !gives(a.value, "item", "float") && mayBeTensor(a.value) {
		out = value{known: true, graph: true}
	}
	if out.known && isSmallName(last(name)) {
		out.big = false
	}
	if out.known && !slices.Contains(out.lines, a.at.Line) {
		out.lines = append(slices.Clip(out.lines), a.at.Line)
	}
	return out
}

// mayBeTensor reports whether an expression can be a tensor; the initial number of a sum cannot.
func mayBeTensor(e pysrc.Expr) bool {
	switch e.(type) {
	case *pysrc.Number, *pysrc.Const, *pysrc.Str, *pysrc.List, *pysrc.Dict:
		return false
	}
	return true
}

// gives reports whether an expression ends in a call of one of these methods or functions.
func gives(e pysrc.Expr, names ...string) bool {
	c, ok := e.(*pysrc.Call)
	return ok && slices.Contains(names, lastOf(c.Func))
}

// lastOf returns the name of a function or method, without its receiver.
func lastOf(e pysrc.Expr) string {
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID
	case *pysrc.Attribute:
		return e.Name
	}
	return ""
}

// returnsIndices reports whether a call returns values and their indices, which have no graph.
func returnsIndices(e pysrc.Expr) bool {
	return gives(e, "max", "min", "topk", "sort", "median", "mode")
}

// attribute returns what is known about x.name, given x.
func attribute(of value, a *pysrc.Attribute) value {
	if !of.known {
		return of
	}
	switch a.Name {
	case "data":
		of.graph = false
	case "shape", "dtype", "device", "ndim", "requires_grad", "grad_fn", "is_cuda", "grad", "layout":
		return value{}
	case "past_key_values", "keys", "values", "items":
		return value{}
	default:
		if isSmallName(a.Name) {
			of.big = false
		}
	}
	return of
}

// isSmallName reports whether a name suggests a number, or one number per sample.
func isSmallName(name string) bool {
	return hasWord(name, "loss", "score", "reward", "acc", "ppl", "perplexity", "nll", "metric", "error", "value_pred")
}

// item returns what is known about x[i].
func (v values) item(e *pysrc.Subscript, p *place) value {
	of := v.of(e.X, p)
	if key, ok := text(e.Index); ok && isSmallName(key) {
		of.big = false
	}
	if n, ok := e.Index.(*pysrc.Number); ok && n.Int == 1 && returnsIndices(e.X) {
		return value{}
	}
	return of
}

// call returns what is known about the result of a call.
func (v values) call(c *pysrc.Call, p *place) value {
	if model := v.f.modelCall(c); model != "" {
		graph := !p.gradless && !v.f.gradless && !v.f.isValidationStep() && !isFrozenName(model)
		return value{known: true, graph: graph, big: true, lines: []int{c.At().Line}}
	}
	name := v.f.imported(c.Func)
	if isTensorFunction(name) {
		return v.function(last(name), c, p)
	}
	on, verb := method(c)
	if on != nil {
		if of := v.of(on, p); of.known {
			return methodOf(of, verb, c)
		}
	}
	if isLossFunction(lastOf(c.Func)) {
		return v.loss(c, p)
	}
	return value{}
}

// isTensorFunction reports whether a name is a torch function that computes a tensor.
func isTensorFunction(name string) bool {
	return strings.HasPrefix(name, "torch.nn.functional.") || strings.HasPrefix(name, "torch.") && strings.Count(name, ".") == 1
}

// isLossFunction reports whether a function or module computes a loss, judging by its name.
func isLossFunction(name string) bool {
	return hasWord(name, "loss", "criterion", "cross_entropy", "loss_fn", "ce_", "bce") && !hasWord(name, "item", "float", "log_loss", "print", "plot", "save", "update", "get_last")
}

// loss returns the value of a loss. It has a graph if its arguments have one.
func (v values) loss(c *pysrc.Call, p *place) value {
	of := v.arguments(c, p)
	of.graph = of.graph && !p.gradless
	if r, ok := text(argument(c, "reduction")); !ok || r != "none" {
		of.big = false
	}
	return of
}

func (v values) arguments(c *pysrc.Call, p *place) value {
	var out value
	for _, a := range c.Args {
		out = join(out, v.of(a.Value, p))
	}
	return out
}

// function returns the value of torch.name(…) or F.name(…).
func (v values) function(name string, c *pysrc.Call, p *place) value {
	switch name {
	case "argmax", "argmin", "eq", "ne", "gt", "lt", "ge", "le", "isnan", "zeros_like", "ones_like", "tensor", "no_grad", "save", "equal", "numel", "argsort", "randn_like", "rand_like", "multinomial", "bincount":
		return value{}
	}
	if isLossFunction(name) {
		return v.loss(c, p)
	}
	of := v.arguments(c, p)
	of.graph = of.graph && !p.gradless
	if reduces(name) {
		of.big = false
	}
	return of
}

// methodOf returns the value of x.name(…), given x.
func methodOf(of value, name string, c *pysrc.Call) value {
	switch name {
	case "item", "tolist", "numpy", "size", "dim", "numel", "backward", "argmax", "argmin", "eq", "ne", "gt", "lt", "ge", "le",
		"data_ptr", "get_device", "is_contiguous", "stride", "items", "keys", "values", "register_hook", "argsort", "isnan", "bool",
		"int", "long", "byte", "update", "append", "pop", "new_zeros", "new_ones", "new_tensor", "multinomial", "sample":
		return value{}
	case "detach", "detach_":
		of.graph = false
	case "cpu":
		of.host = true
	case "to":
		if args := positional(c); len(args) > 0 {
			if d, ok := text(args[0]); ok && d == "cpu" {
				of.host = true
			} else if inner, ok := args[0].(*pysrc.Call); ok && len(inner.Args) > 0 {
				if d, _ := text(inner.Args[0].Value); d == "cpu" {
					of.host = true
				}
			}
		}
		if d, _ := text(argument(c, "device")); d == "cpu" {
			of.host = true
		}
	default:
		if reduces(name) {
			of.big = false
		}
	}
	return of
}

// reduces reports whether a function's result is usually much smaller than its input.
func reduces(name string) bool {
	switch name {
	case "mean", "sum", "norm", "max", "min", "gather", "amax", "amin", "prod", "logsumexp", "std", "var":
		return true
	}
	return false
}
