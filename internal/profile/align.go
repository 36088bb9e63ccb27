// SPDX-License-Identifier: Apache-2.0

package profile

// Two recordings of one training step at different sizes are nearly the same sequence of allocations.
// They differ in places: a reshape of a batch of one is a view and needs no copy, an embedding's backward
// sorts its indices when there are many, and cuDNN chooses a different algorithm. The alignment finds the
// pairs of allocations that correspond.
//
// Only allocations are aligned. The time of each free is taken from the recording that the program is made from.
//
// Two allocations surely correspond if their stacks and CUDA streams agree, they live equally long, and a quantity
// explains the ratio of their sizes: 1, the ratio of the batches, or its square. Nearly all do, so the two sequences
// are walked in step. If a pair is not sure but the next few are, its size simply follows no such rule. Otherwise an
// allocation is missing on one side, and dynamic programming (Needleman-Wunsch, as for text) over the next few dozen
// on each side finds which; if that is not enough, the table is enlarged. A million allocations with ten thousand
// such places align in well under a second.

// aligner aligns one sequence of allocations with another.
type aligner struct {
	a, b   []lifetime
	ratios []ratio // possible ratios of sizes in b to sizes in a
	pairs  []int32 // by allocation of b: its counterpart in a, or none
	table  []cell
}

// none marks an allocation without a counterpart.
const none = -1

// ratio is num/den, the size in b divided by the size in a.
type ratio struct{ num, den uint64 }

// ahead is the number of sure pairs that confirm the pair before them.
const ahead = 6

// align returns, for each allocation of b, its counterpart in a, or none.
func align(a, b []lifetime, ratios []ratio) []int32 {
	al := &aligner{a: a, b: b, ratios: ratios, pairs: make([]int32, len(b))}
	for j := range al.pairs {
		al.pairs[j] = none
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if al.sure(i, j) && a[i].span == b[j].span || al.alike(i, j) && al.inStep(i, j) {
			al.pairs[j] = int32(i)
			i, j = i+1, j+1
			continue
		}
		i, j = al.resync(i, j)
	}
	return al.pairs
}

// alike reports whether two allocations differ only in size.
func (al *aligner) alike(i, j int) bool {
	x, y := &al.a[i], &al.b[j]
	return x.stack == y.stack && x.queue == y.queue && sameSpan(x.span, y.span)
}

// sure reports whether two allocations surely correspond.
func (al *aligner) sure(i, j int) bool {
	return al.alike(i, j) && al.explained(al.a[i].size, al.b[j].size)
}

func (al *aligner) explained(a, b uint64) bool {
	if a == b {
		return true
	}
	for _, r := range al.ratios {
		if a*r.num == b*r.den {
			return true
		}
	}
	return false
}

// inStep reports whether the allocations after a pair correspond. Then the pair does too, even if its sizes are
// unexplained or one allocation lives longer.
func (al *aligner) inStep(i, j int) bool {
	for k := 1; k <= ahead; k++ {
		if i+k >= len(al.a) || j+k >= len(al.b) {
			return len(al.a)-i == len(al.b)-j
		}
		if !al.sure(i+k, j+k) {
			return false
		}
	}
	return true
}

// sameSpan reports whether two allocations live about equally long, measured in allocations made meanwhile. Small
// differences come from allocations that only one recording has.
func sameSpan(a, b int32) bool {
	if a == forever || b == forever {
		return a == b
	}
	if a > b {
		a, b = b, a
	}
	return b-a <= 4+a/4
}
