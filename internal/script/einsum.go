// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// torch.einsum, as in native/Linear.cpp: every operand becomes a view with all dimensions, first those of the result,
// then those that are summed, with size one where the operand lacks a dimension. Then the operands are multiplied from
// left to right. opt_einsum, which finds another order for three or more, is assumed not to be installed.

// einsum implements torch.einsum(equation, *operands).
func einsum(in *interpreter, a arguments) value {
	equation, _ := a.or(0, "equation", "").(string)
	given := a.pos[min(1, len(a.pos)):]
	if l, ok := a.or(1, "operands", nil).(*list); ok {
		given = l.items
	}
	operands := make([]*shadow.Tensor, len(given))
	for i, v := range given {
		operands[i], _ = card(arguments{pos: []value{v}}, 0, "")
	}
	if slices.Contains(operands, nil) {
		in.noteTensors("einsum", a)
		return unknown{}
	}
	e, ok := parseEinsum(equation, operands)
	if !ok {
		in.noteTensors("einsum", a)
		return unknown{}
	}
	return in.World.Autocasted(operands, e.run).Hold()
}

// einsumOf is an equation for given operands. Each dimension of an ellipsis has a letter too, from firstHidden on.
type einsumOf struct {
	labels [][]rune // the dimensions of each operand
	all    []rune   // the dimensions of the result, then those that are summed
	kept   int      // number of dimensions of the result
}

const firstHidden = 'z' + 1

// parseEinsum reports false for an equation that does not match its operands, and for a label that an operand has
// twice, whose diagonal it would be.
func parseEinsum(equation string, operands []*shadow.Tensor) (e einsumOf, ok bool) {
	sides, result, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	parts := strings.Split(sides, ",")
	if len(parts) != len(operands) {
		return e, false
	}
	hidden := 0 // dimensions of the widest ellipsis
	for i, p := range parts {
		if own := operands[i].Dim() - len(strings.Replace(p, "...", "", 1)); strings.Contains(p, "...") {
			hidden = max(hidden, own)
		}
	}
	size, count := map[rune]int{}, map[rune]int{}
	for i, p := range parts {
		labels := labelsOf(p, hidden, operands[i].Dim())
		if len(labels) != operands[i].Dim() {
			return e, false
		}
		seen := map[rune]bool{}
		for d, c := range labels {
			n := operands[i].Size(d)
			if seen[c] || n != 1 && size[c] > 1 && size[c] != n {
				return e, false
			}
			seen[c], size[c] = true, max(n, size[c])
			count[c]++
		}
		e.labels = append(e.labels, labels)
	}
	return e.complete(count, result, explicit, hidden)
}

// complete sets the result's dimensions, then those that are summed, given how often each label occurs.
func (e einsumOf) complete(count map[rune]int, result string, explicit bool, hidden int) (einsumOf, bool) {
	letters := make([]rune, 0, len(count))
	for c := range count {
		letters = append(letters, c)
	}
	order := func(c rune) int { // ellipses first
		if c >= firstHidden {
			return int(c) - 1000
		}
		return int(c)
	}
	slices.SortFunc(letters, func(a, b rune) int { return order(a) - order(b) })
	if explicit {
		e.all = labelsOf(result, hidden, hidden+len(strings.Replace(result, "...", "", 1)))
	} else {
		for _, c := range letters {
			if count[c] == 1 || c >= firstHidden {
				e.all = append(e.all, c)
			}
		}
	}
	e.kept = len(e.all)
	for i, c := range e.all {
		if count[c] == 0 || slices.Contains(e.all[:i], c) {
			return e, false
		}
	}
	for _, c := range letters {
		if !slices.Contains(e.all, c) {
			e.all = append(e.all, c)
		}
	}
	return e, len(e.all) <= shadow.MaxDims
}

// labelsOf returns the labels of a term with the given number of dimensions. An ellipsis stands for the last of the
// hidden labels.
func labelsOf(term string, hidden, dims int) (out []rune) {
	before, after, has := strings.Cut(term, "...")
	out = append(out, []rune(before)...)
	if has {
		for i := hidden - (dims - len(before) - len(after)); i < hidden; i++ {
			out = append(out, firstHidden+rune(i))
		}
	}
	return append(out, []rune(after)...)
}

func (e einsumOf) run(operands []*shadow.Tensor) *shadow.Tensor {
	views := make([]*shadow.Tensor, len(operands))
	uses := make([]int, len(e.all)) // number of operands with more than one element in a dimension
	for i, t := range operands {
		views[i] = e.aligned(t, e.labels[i])
		for d := range e.all {
			if views[i].Size(d) != 1 {
				uses[d]++
			}
		}
	}
	out := views[0]
	for _, next := range views[1:] {
		out = e.product(out, next, uses)
	}
	var summed, sizes []int
	for d := range e.all {
		if d < e.kept {
			sizes = append(sizes, out.Size(d))
		} else {
			summed = append(summed, d)
		}
	}
	switch {
	case len(summed) == 0:
		return out
	case len(operands) == 1:
		return out.Sum(false, summed...)
	}
	return out.View(sizes...)
}

// aligned returns a view of an operand with all dimensions.
func (e einsumOf) aligned(t *shadow.Tensor, labels []rune) *shadow.Tensor {
	order := make([]int, len(e.all))
	dims := len(labels)
	for i, c := range e.all {
		if order[i] = slices.Index(labels, c); order[i] < 0 {
			t = t.Unsqueeze(dims)
			order[i] = dims
			dims++
		}
	}
	return t.Permute(order...)
}

// product multiplies two operands, and sums the dimensions that no later operand has.
func (e einsumOf) product(a, b *shadow.Tensor, uses []int) *shadow.Tensor {
	var summed, ofA, ofB []int
	for d := e.kept; d < len(e.all); d++ {
		inA, inB := a.Size(d) != 1, b.Size(d) != 1
		switch {
		case inA && inB:
			if uses[d]--; uses[d] == 1 {
				summed, uses[d] = append(summed, d), 0
			}
		case uses[d] == 1 && inA:
			ofA, uses[d] = append(ofA, d), 0
		case uses[d] == 1 && inB:
			ofB, uses[d] = append(ofB, d), 0
		}
	}
	if len(ofA) > 0 {
		a = a.Sum(true, ofA...)
	}
	if len(ofB) > 0 {
		b = b.Sum(true, ofB...)
	}
	return productOfPair(a, b, summed)
}

// productOfPair is sumproduct_pair with keepdim: (both, left, summed) times (both, summed, right), or the other way
// round if that is the order of the result.
func productOfPair(left, right *shadow.Tensor, summed []int) *shadow.Tensor {
	if len(summed) == 0 {
		return left.Mul(right)
	}
	var both, onlyLeft, onlyRight []int
	for d := range left.Dim() {
		switch inLeft, inRight := left.Size(d) != 1, right.Size(d) != 1; {
		case slices.Contains(summed, d):
		case inLeft && inRight:
			both = append(both, d)
		case inLeft:
			onlyLeft = append(onlyLeft, d)
		default:
			onlyRight = append(onlyRight, d)
		}
	}
	if len(onlyLeft) > 0 && len(onlyRight) > 0 && slices.Max(onlyRight) < onlyLeft[0] {
		left, right, onlyLeft, onlyRight = right, left, onlyRight, onlyLeft
	}
	count := func(t *shadow.Tensor, dims []int) int {
		n := 1
		for _, d := range dims {
			n *= t.Size(d)
		}
		return n
	}
	b, l, s, r := count(left, both), count(left, onlyLeft), count(left, summed), count(right, onlyRight)
	order := slices.Concat(both, onlyLeft, summed, onlyRight)
	sizes, back := make([]int, len(order)), make([]int, len(order))
	for i, d := range order {
		back[d], sizes[i] = i, max(left.Size(d), right.Size(d))
		if slices.Contains(summed, d) {
			sizes[i] = 1
		}
	}
	first := left.Permute(order...).Reshape(b, l, s)
	second := right.Permute(slices.Concat(both, summed, onlyRight, onlyLeft)...).Reshape(b, s, r)
	return first.Bmm(second).View(sizes...).Permute(back...)
}
