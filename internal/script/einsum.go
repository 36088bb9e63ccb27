// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// einsum implements torch.einsum for two tensors. Each letter must be in both and the result, in both only (and
// is summed), or in one and the result. It becomes a batched product of views of both tensors.
func einsum(in *interpreter, a arguments) value {
	equation, _ := a.or(0, "equation", "").(string)
	x, okX := card(a, 1, "")
	y, okY := card(a, 2, "")
	e, ok := parseEinsum(equation)
	if !ok || !okX || !okY || len(a.pos) != 3 || x.Dim() != len(e.left) || y.Dim() != len(e.right) {
		in.noteTensors("einsum", a)
		return unknown{}
	}
	return e.run(x, y).Hold()
}

// einsumOf is an equation with two operands, with its letters sorted by where they occur.
type einsumOf struct {
	left, right, result string
	both, summed        []rune // letters in both operands: kept, or summed
	onlyLeft, onlyRight []rune
}

func parseEinsum(equation string) (e einsumOf, ok bool) {
	sides, result, ok := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	left, right, two := strings.Cut(sides, ",")
	if !ok || !two || strings.ContainsAny(equation, ".") || strings.Contains(right, ",") {
		return e, false
	}
	e.left, e.right, e.result = left, right, result
	for _, c := range left {
		switch inRight, kept := strings.ContainsRune(right, c), strings.ContainsRune(result, c); {
		case inRight && kept:
			e.both = append(e.both, c)
		case inRight:
			e.summed = append(e.summed, c)
		case kept:
			e.onlyLeft = append(e.onlyLeft, c)
		default:
			return e, false
		}
	}
	for _, c := range right {
		if strings.ContainsRune(left, c) {
			continue
		}
		if !strings.ContainsRune(result, c) {
			return e, false
		}
		e.onlyRight = append(e.onlyRight, c)
	}
	return e, len(result) == len(e.both)+len(e.onlyLeft)+len(e.onlyRight)
}

// run follows sumproduct_pair: (both, left, summed) times (both, summed, right).
func (e einsumOf) run(x, y *shadow.Tensor) *shadow.Tensor {
	size := map[rune]int{}
	for i, c := range e.left {
		size[c] = x.Size(i)
	}
	for i, c := range e.right {
		size[c] = max(size[c], y.Size(i))
	}
	count := func(cs []rune) int {
		n := 1
		for _, c := range cs {
			n *= size[c]
		}
		return n
	}
	b, l, s, r := count(e.both), count(e.onlyLeft), count(e.summed), count(e.onlyRight)
	first := lettered(x, e.left, slices.Concat(e.both, e.onlyLeft, e.summed)).Reshape(b, l, s)
	second := lettered(y, e.right, slices.Concat(e.both, e.summed, e.onlyRight)).Reshape(b, s, r)
	letters := slices.Concat(e.both, e.onlyLeft, e.onlyRight)
	var sizes []int
	for _, c := range letters {
		sizes = append(sizes, size[c])
	}
	out := first.Bmm(second).View(sizes...)
	return lettered(out, string(letters), []rune(e.result))
}

// lettered returns a view of the tensor with its letters in the order want.
func lettered(t *shadow.Tensor, letters string, want []rune) *shadow.Tensor {
	var order []int
	for _, c := range want {
		order = append(order, strings.IndexRune(letters, c))
	}
	return t.Permute(order...)
}
