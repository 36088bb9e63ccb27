// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// Attention masks with zeros take a different path through a model from masks of ones, which are dropped. The
// contents of tensors are not known, but their history is: a mask that was created with zeros or had zeros
// assigned contains some, and a mask that is the result of a comparison may contain some.

// zeros is what is known about the zeros in a tensor.
type zeros int

const (
	someZeros  zeros = iota + 1 // the tensor was created with zeros, or had zeros assigned
	maybeZeros                  // the tensor is the result of a comparison
)

// marks stores what is known about the zeros in v, a tensor of integers or booleans.
func (in *interpreter) marks(v value, z zeros) {
	if z == 0 || !marked(v) {
		return
	}
	if in.zeros == nil {
		in.zeros = map[value]zeros{}
	}
	in.zeros[v] = z
}

// marked reports whether v is a tensor of integers or booleans.
func marked(v value) bool {
	switch t := v.(type) {
	case *hostTensor:
		return countable(t.dtype)
	case *shadow.Tensor:
		return countable(t.DType())
	}
	return false
}

// countable reports whether dt is a possible type of an attention mask.
func countable(dt shadow.DType) bool {
	return dt == shadow.Bool || dt == shadow.Int64 || dt == shadow.Int32
}

// zerosIn returns what is known about the zeros in v; for a list, about those in its items.
func (in *interpreter) zerosIn(v value) (z zeros) {
	if _, ok := v.(*dict); ok {
		return 0
	}
	var once visited
	once.inside(v, func(x value) bool {
		switch x.(type) {
		case *hostTensor, *shadow.Tensor:
			z = in.zeros[x]
		}
		return z != 0
	})
	return z
}

// inherits marks out, the result of a native function, if the function creates zeros or an argument is marked.
func (in *interpreter) inherits(out, fn value, a arguments) {
	in.learnCall(out, fn, a)
	if !marked(out) {
		return // a fast exit, needed for append in long loops
	}
	switch f := fn.(type) {
	case namespace:
		zero, _ := number(a.or(1, "fill_value", 1))
		if f == "torch.zeros" || f == "torch.zeros_like" || (f == "torch.full" || f == "torch.full_like") && zero == 0 {
			in.marks(out, someZeros)
		}
	case *bound:
		if f.name == "new_zeros" {
			in.marks(out, someZeros)
			return
		}
		in.marks(out, in.zerosIn(f.self))
	}
	if len(in.zeros) == 0 {
		return
	}
	for _, v := range a.pos {
		if z := in.zerosIn(v); z != 0 && in.zerosIn(out) == 0 {
			in.marks(out, z)
		}
	}
}

// hasZero reports whether a list, or one inside it, has a zero.
func hasZero(v value) bool {
	l, ok := v.(*list)
	return ok && slices.ContainsFunc(l.items, func(x value) bool { return x == 0 || hasZero(x) })
}

// putsZero marks the tensor t if v, which is assigned to a part of it, is zero.
func (in *interpreter) putsZero(t, v value) {
	switch v {
	case 0, false:
		in.marks(t, someZeros)
	}
}

// noteMask adds a note on how a mask that may have zeros was counted.
func (in *interpreter) noteMask(z zeros, masked bool) {
	switch {
	case z == 0 || masked && z == someZeros:
	case masked:
		in.note("the attention mask is computed at run time; it is counted as if it had zeros, which requires a mask of batch × length² bytes; without zeros, the run needs less memory than shown")
	default:
		in.note("the attention mask may have zeros and is counted as all ones; with zeros, the run needs at least batch × length² bytes more")
	}
}
