// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// In preference tuning a sample is a prompt and an answer, and its masks are true in the answer: the last
// elements of each row. The number of elements that these masks select is therefore known.

// sameRows lists methods whose result has the same rows as the tensor.
var sameRows = map[string]bool{
	"to": true, "cuda": true, "cpu": true, "bool": true, "long": true, "int": true, "float": true, "byte": true, "clone": true, "detach": true, "contiguous": true,
	"masked_fill": true, "masked_fill_": true, "eq": true, "ne": true, "logical_not": true,
}

// tailed reports whether the contents are described by the tails of the rows.
func (c contents) tailed() bool { return c.kind == tailMask || c.kind == tailLeft }

// tailAgainst returns the contents of a comparison of known rows with a number.
func (c contents) tailAgainst(op string, x float64) contents {
	out := contents{kind: tailMask, tail: c.tail, other: c.other}
	switch {
	case c.kind == tailMask && (op == "==" && x == 1 || op == "!=" && x == 0 || op == ">" && x == 0):
		return out
	case c.kind == tailMask && op == "==" && x == 0:
		out.other = !out.other
		return out
	case c.kind == tailLeft && x == c.value && (op == "==" || op == "!="):
		out.other = op == "=="
		return out
	}
	return contents{}
}

// inTail returns the number of elements that a known mask of this size selects.
func (c contents) inTail(size []int) int {
	if len(size) == 0 || size[len(size)-1] == 0 {
		return c.numel
	}
	width := size[len(size)-1]
	n := c.numel / width * min(c.tail, width)
	if c.other {
		n = c.numel - n
	}
	return n
}

// indexedContents returns what is known about o[key], for an index of slices.
func (in *interpreter) indexedContents(c contents, key, v value) contents {
	if !c.tailed() {
		return c
	}
	last, cut := lastSlice(key)
	if cut && (last.hi != nil || last.step != nil) {
		return contents{} // the slice may cut off the tail
	}
	if size := sizeOfAny(v); len(size) > 0 {
		c.tail = min(c.tail, size[len(size)-1])
	}
	return c
}

// lastSlice returns the slice of the last dimension in an index of two, if it has one.
func lastSlice(key value) (*slice, bool) {
	l, ok := key.(*list)
	if !ok || !l.tuple || len(l.items) != 2 {
		return nil, false
	}
	s, ok := l.items[1].(*slice)
	return s, ok
}

// cutTail returns the number of elements of each row that the index [:, :-n] omits.
func cutTail(key value) (tail int, ok bool) {
	s, isSlice := lastSlice(key)
	if !isSlice || s.lo != nil || s.step != nil {
		return 0, false
	}
	n, ok := s.hi.(int)
	return -n, ok && n < 0
}

// learnParts stores what is known about the parts into which chunk splits the rows of a tensor.
func (in *interpreter) learnParts(parts *list, fn value, a arguments) {
	f, ok := fn.(*bound)
	if !ok || f.name != "chunk" || a.or(1, "dim", 0) != 0 {
		return
	}
	c, known := in.contentsOf(f.self)
	if !known || !c.tailed() {
		return
	}
	for _, p := range parts.items {
		in.learn(p, c)
	}
}

// sizeOfAny returns the size of a tensor, or nil.
func sizeOfAny(v value) []int {
	switch t := v.(type) {
	case *shadow.Tensor:
		return t.Sizes()
	case *hostTensor:
		return t.size
	}
	return nil
}
