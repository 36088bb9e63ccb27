// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math"
	"slices"

	"snug/internal/shadow"
)

// The number of elements that a mask selects determines the size of logits[mask]. The contents of tensors are not
// known, but the distribution of random masks is: torch.rand(shape) < 0.15 is true for 15 % of the elements.

// contents is what is known about the elements of a tensor.
type contents struct {
	kind   contentKind
	share  float64 // share of the elements that are true, or equal to value
	value  float64 // value of all elements, or of the filled ones
	numel  int     // number of elements, because tensors are recycled
	tail   int     // length of the tail, the last elements of each row
	other  bool    // the mask is true outside the tail instead of in it
	routed bool    // the elements are choices that the model makes, or masks of them
	even   bool    // the share is exact, and so is that of the inverted mask
}

type contentKind int

const (
	uniform    contentKind = iota + 1 // random numbers between 0 and 1
	sameNumber                        // all elements are value
	randomMask                        // true, or 1, for a share of the elements
	filled                            // a share of the elements is value
	tailMask                          // true, or 1, in the tail of each row: the last elements
	tailLeft                          // value everywhere but in the tail of each row
	choices                           // indices, each one of value many that are equally likely
)

// contentsOf returns what is known about the contents of v.
func (in *interpreter) contentsOf(v value) (contents, bool) {
	if c, ok := in.contents[v]; ok && c.numel == numelOf(v) {
		return c, true
	}
	return contents{}, false
}

// learn stores what is known about v, a tensor. A zero kind removes earlier knowledge.
func (in *interpreter) learn(v value, c contents) {
	if c.numel = numelOf(v); c.numel < 0 {
		return
	}
	if c.kind == 0 {
		delete(in.contents, v)
		return
	}
	if in.contents == nil {
		in.contents = map[value]contents{}
	}
	in.contents[v] = c
}

func numelOf(v value) int {
	switch t := v.(type) {
	case *shadow.Tensor:
		return t.Numel()
	case *hostTensor:
		return shadow.Dims(t.size...).Numel()
	}
	return -1
}

// sameContents lists methods whose result has the same share of elements as the tensor.
var sameContents = map[string]bool{
	"view": true, "reshape": true, "flatten": true, "to": true, "cuda": true, "cpu": true, "bool": true, "long": true, "int": true, "float": true, "byte": true, "clone": true,
	"detach": true, "contiguous": true, "t": true, "transpose": true, "permute": true, "squeeze": true, "unsqueeze": true, "expand": true, "expand_as": true, "view_as": true,
}

// comparisons maps method names to operators.
var comparisons = map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "logical_and": "&", "logical_or": "|"}

// learnCall stores what is known about the result of a native function.
func (in *interpreter) learnCall(out, fn value, a arguments) {
	if parts, ok := out.(*list); ok {
		in.learnParts(parts, fn, a)
		return
	}
	if numelOf(out) < 0 {
		return
	}
	switch f := fn.(type) {
	case namespace:
		in.learn(out, in.madeBy(string(f), a))
	case *bound:
		own, _ := in.contentsOf(f.self)
		in.learn(out, in.calledOn(f.self, own, f.name, a))
	}
}

// madeBy returns the contents of a torch function's result.
func (in *interpreter) madeBy(name string, a arguments) contents {
	first := a.or(0, "input", nil)
	switch name {
	case "torch.rand", "torch.rand_like":
		return contents{kind: uniform}
	case "torch.full", "torch.full_like":
		if v, ok := number(a.or(1, "fill_value", nil)); ok {
			return contents{kind: sameNumber, value: v}
		}
	case "torch.argmax", "torch.argmin":
		return chosenAlong(first, a.or(1, "dim", nil))
	case "torch.multinomial":
		return chosenAlong(first, -1)
	case "torch.any":
		own, _ := in.contentsOf(first)
		return own.anyAlong(first, a.or(1, "dim", nil))
	case "torch.nn.functional.one_hot":
		if own, ok := in.contentsOf(a.or(0, "tensor", nil)); ok && own.kind == choices {
			return own.choosing("==")
		}
	case "torch.randint":
		if least, most, ok := randomBounds(a, "low", "high"); ok && most > least {
			return contents{kind: choices, value: float64(most - least)}
		}
	case "torch.tensor", "torch.as_tensor", "torch.LongTensor", "torch.IntTensor":
		if v, ok := sameItems(first); ok {
			return contents{kind: sameNumber, value: v}
		}
	case "torch.where":
		return in.chosenFrom(first, a.or(1, "", nil), a.or(2, "", nil))
	case "torch.bernoulli", "torch.logical_not", "torch.clone":
		own, _ := in.contentsOf(first)
		return in.calledOn(first, own, name[len("torch."):], arguments{})
	}
	if len(name) > len("torch.") && comparisons[name[len("torch."):]] != "" {
		return in.compared(comparisons[name[len("torch."):]], first, a.or(1, "other", nil))
	}
	return contents{}
}

// sameItems returns the number that all items of a list are.
func sameItems(v value) (float64, bool) {
	l, ok := v.(*list)
	if !ok || len(l.items) == 0 {
		return 0, false
	}
	n, ok := number(l.items[0])
	return n, ok && !slices.ContainsFunc(l.items, func(x value) bool { return x != l.items[0] })
}

// calledOn returns the contents of a method's result.
func (in *interpreter) calledOn(self value, own contents, name string, a arguments) contents {
	p, given := number(a.or(0, "p", nil))
	switch {
	case own.tailed() && name == "index_select" && a.or(0, "dim", nil) == 0:
		return own
	case own.tailed() && !sameRows[name]:
	case name == "argmax" || name == "argmin":
		return chosenAlong(self, a.or(0, "dim", nil))
	case name == "multinomial":
		return chosenAlong(self, -1)
	case name == "any":
		return own.anyAlong(self, a.or(0, "dim", nil))
	case sameContents[name]:
		return own
	case comparisons[name] != "":
		return in.compared(comparisons[name], self, a.or(0, "other", nil))
	case (name == "bernoulli" || name == "bernoulli_") && given:
		return contents{kind: randomMask, share: p}
	case name == "bernoulli" && own.kind == sameNumber:
		return contents{kind: randomMask, share: own.value}
	case name == "logical_not" && own.kind == randomMask:
		return contents{kind: randomMask, share: 1 - own.share, even: own.even}
	case name == "uniform_" && len(a.pos) == 0:
		return contents{kind: uniform}
	case name == "fill_" && given, name == "new_full":
		return contents{kind: sameNumber, value: p}
	case name == "masked_fill" || name == "masked_fill_":
		return in.filledWhere(own, a.or(0, "mask", nil), a.or(1, "value", nil))
	}
	return contents{}
}

// filledWhere returns the contents of a tensor after v is assigned where mask is true.
func (in *interpreter) filledWhere(own contents, mask, v value) contents {
	m, ok := in.contentsOf(mask)
	x, isNumber := number(v)
	if ok && isNumber && m.kind == tailMask && m.other {
		return contents{kind: tailLeft, tail: m.tail, value: x}
	}
	switch {
	case own.kind == sameNumber: // these are probabilities, set to zero only at the few special tokens
		return own
	case !ok || m.kind != randomMask || !isNumber:
		return contents{}
	case own.kind == filled && own.value == x:
		m.share = 1 - (1-m.share)*(1-own.share)
	case own.kind == filled:
		return own
	}
	return contents{kind: filled, share: m.share, value: x}
}

// fills stores what is known about t after t[key] = v.
func (in *interpreter) fills(t, key, v value) {
	own, _ := in.contentsOf(t)
	if tail, ok := cutTail(key); ok {
		x, isNumber := number(v)
		if !isNumber {
			tail = 0
		}
		in.learn(t, contents{kind: tailLeft, tail: tail, value: x})
	} else if _, ok := in.contentsOf(key); ok {
		in.learn(t, in.filledWhere(own, key, v))
	} else if x, ok := number(v); !ok || own.kind != filled || x == own.value {
		in.learn(t, contents{})
	}
}

// chosenFrom returns the contents of torch.where(mask, a, b).
func (in *interpreter) chosenFrom(mask, a, b value) contents {
	m, ok := in.contentsOf(mask)
	if !ok || m.kind != randomMask {
		return contents{}
	}
	if x, ok := number(a); ok {
		return contents{kind: filled, share: m.share, value: x}
	}
	if x, ok := number(b); ok {
		return contents{kind: filled, share: 1 - m.share, value: x}
	}
	return contents{}
}

// compared returns the contents of l op r, for comparisons and for & and | of masks, which are assumed to be
// independent.
func (in *interpreter) compared(op string, l, r value) contents {
	a, okA := in.contentsOf(l)
	b, okB := in.contentsOf(r)
	if okA && okB && a.kind == randomMask && b.kind == randomMask {
		switch op {
		case "&", "*":
			return contents{kind: randomMask, share: a.share * b.share}
		case "|":
			return contents{kind: randomMask, share: 1 - (1-a.share)*(1-b.share)}
		}
		return contents{}
	}
	if okA {
		if x, ok := number(r); ok {
			return a.against(op, x)
		}
	}
	if x, ok := number(l); ok && okB {
		return b.against(map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op], x)
	}
	return contents{}
}

// combined returns the contents of an arithmetic or logical operation on tensors.
func (in *interpreter) combined(op string, l, r value) contents {
	if op != "&" && op != "|" && op != "*" {
		return contents{}
	}
	return in.compared(op, l, r)
}

// inverted returns the contents of ~mask.
func (in *interpreter) inverted(mask value) contents {
	own, _ := in.contentsOf(mask)
	if own.kind == tailMask {
		own.other = !own.other
		return own
	}
	return in.calledOn(mask, own, "logical_not", arguments{})
}

// against returns the contents of a comparison with a number.
func (c contents) against(op string, x float64) contents {
	if c.tailed() {
		return c.tailAgainst(op, x)
	}
	if c.kind == choices {
		return c.choosing(op)
	}
	share, ok := 0.0, false
	switch less := op == "<" || op == "<="; {
	case c.kind == uniform && (less || op == ">" || op == ">="):
		share, ok = min(max(x, 0), 1), true
		if !less {
			share = 1 - share
		}
	case c.kind == randomMask && (op == "==" && x == 1 || op == "!=" && x == 0 || op == ">" && x >= 0 && x < 1):
		share, ok = c.share, true
	case c.kind == randomMask && op == "==" && x == 0:
		share, ok = 1-c.share, true
	case c.kind == filled && x == c.value && (op == "==" || op == "!="):
		share, ok = c.share, true
		if op == "!=" {
			share = 1 - share
		}
	}
	if !ok {
		return contents{}
	}
	return contents{kind: randomMask, share: share, routed: c.routed}
}

// choosing returns the contents of a comparison of choices with one of them.
func (c contents) choosing(op string) contents {
	switch op {
	case "==":
		return contents{kind: randomMask, share: 1 / c.value, routed: c.routed}
	case "!=":
		return contents{kind: randomMask, share: 1 - 1/c.value, routed: c.routed}
	}
	return contents{}
}

// chosenAlong returns the contents of argmax and multinomial along a dimension: choices of the model.
func chosenAlong(self, dim value) contents {
	size := sizeOfAny(self)
	i, ok := dim.(int)
	if i < 0 {
		i += len(size)
	}
	if !ok || i < 0 || i >= len(size) {
		return contents{}
	}
	return contents{kind: choices, value: float64(size[i]), routed: true}
}

// anyAlong returns the contents of mask.any(dim), for independent elements.
func (c contents) anyAlong(self, dim value) contents {
	along := chosenAlong(self, dim)
	if c.kind != randomMask || along.kind == 0 {
		return contents{}
	}
	return contents{kind: randomMask, share: 1 - math.Pow(1-c.share, along.value), routed: c.routed}
}

// deviations lists how far the number of selected elements is from its mean, in standard deviations, in
// successive steps. The numbers vary because, in a real run, blocks of one step do not fit the next, and PyTorch
// reserves more.
var deviations = []float64{0, 1, -1, 2}

// selected returns the number of elements that a random mask selects in this step.
func (in *interpreter) selected(mask value) (n int, known bool) {
	c, ok := in.contentsOf(mask)
	if ok && c.kind == tailMask {
		return c.inTail(sizeOfAny(mask)), true
	}
	if !ok || c.kind != randomMask {
		return 0, false
	}
	if c.routed {
		in.note("how many elements each choice of the model gets is not known; they are assumed to be spread evenly")
	}
	z := deviations[in.result.Updates%len(deviations)]
	if c.even {
		z = 0
	}
	mean, spread := c.share*float64(c.numel), math.Sqrt(c.share*(1-c.share)*float64(c.numel))
	return min(max(int(math.Round(mean+z*spread)), 1), c.numel), true
}

// nonzeroOf implements t.nonzero(as_tuple).
func nonzeroOf(in *interpreter, t *shadow.Tensor, a arguments) value {
	tuple, _ := a.or(0, "as_tuple", false).(bool)
	return in.nonzero(t, tuple)
}

// nonzero returns the positions of the elements of a mask that are true, in one tensor or in one for each dimension.
func (in *interpreter) nonzero(mask *shadow.Tensor, tuple bool) value {
	n, known := in.selected(mask)
	if !known {
		in.note("the number of elements that this mask selects is not known; all are counted, which is the maximum")
		in.result.Masks = true
		if n = mask.Numel(); in.NoneSelected {
			n = 1
		}
	}
	at := mask.Nonzero(n).Hold()
	if !tuple {
		return at
	}
	out := tensorTuple(at.Unbind(1))
	at.Drop()
	return out
}
