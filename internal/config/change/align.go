// SPDX-License-Identifier: Apache-2.0

package change

import "slices"

// The lines that two texts share are found as in patience diff: first the common beginning and end, then the
// lines in between that occur once in each text. The parts between those lines are compared in the same way. This
// keeps a diff from matching blank lines and brackets across unrelated keys, and takes n log n time at each of a
// few depths for any texts. Lines that are not matched in this way count as changed, so a diff may be longer than
// necessary; it is never wrong.

// run is a run of n lines that both texts have.
type run struct{ old, new, n int }

// deepest limits how often the lines between unique lines are compared again. Each level reads every line
// at most once.
const deepest = 8

// align returns the lines that stay, in order.
func align(old, new []string) []run {
	a := aligner{old: old, new: new}
	a.between(0, len(old), 0, len(new), 0)
	return a.same
}

type aligner struct {
	old, new []string
	same     []run
}

// keep adds n lines that stay.
func (a *aligner) keep(old, new, n int) {
	if n == 0 {
		return
	}
	if k := len(a.same) - 1; k >= 0 && a.same[k].old+a.same[k].n == old && a.same[k].new+a.same[k].n == new {
		a.same[k].n += n
		return
	}
	a.same = append(a.same, run{old, new, n})
}

// between aligns a part of each text.
func (a *aligner) between(old, oldEnd, new, newEnd, depth int) {
	n := 0
	for old+n < oldEnd && new+n < newEnd && a.old[old+n] == a.new[new+n] {
		n++
	}
	a.keep(old, new, n)
	old, new = old+n, new+n
	tail := 0
	for oldEnd-tail > old && newEnd-tail > new && a.old[oldEnd-tail-1] == a.new[newEnd-tail-1] {
		tail++
	}
	if depth < deepest {
		a.middle(old, oldEnd-tail, new, newEnd-tail, depth)
	}
	a.keep(oldEnd-tail, newEnd-tail, tail)
}

// middle aligns the parts between lines that both texts have exactly once.
func (a *aligner) middle(old, oldEnd, new, newEnd, depth int) {
	anchors := rising(a.once(old, oldEnd, new, newEnd))
	for _, at := range anchors {
		a.between(old, at.old, new, at.new, depth+1)
		a.keep(at.old, at.new, 1)
		old, new = at.old+1, at.new+1
	}
	if len(anchors) > 0 {
		a.between(old, oldEnd, new, newEnd, depth+1)
	}
}

// once returns the lines that both parts have exactly once, in the order of the old text.
func (a *aligner) once(old, oldEnd, new, newEnd int) []run {
	type count struct{ old, new, at int }
	seen := make(map[string]*count, oldEnd-old)
	for _, line := range a.old[old:oldEnd] {
		if seen[line] == nil {
			seen[line] = &count{}
		}
		seen[line].old++
	}
	for i, line := range a.new[new:newEnd] {
		if c := seen[line]; c != nil {
			c.new, c.at = c.new+1, new+i
		}
	}
	var out []run
	for i, line := range a.old[old:oldEnd] {
		if c := seen[line]; c.old == 1 && c.new == 1 {
			out = append(out, run{old + i, c.at, 1})
		}
	}
	return out
}

// rising returns the longest subsequence in which the lines of the new text are also in increasing order.
func rising(list []run) []run {
	var ends []int // the smallest last element of the increasing subsequences of each length
	before := make([]int, len(list))
	for i, r := range list {
		k, _ := slices.BinarySearchFunc(ends, r.new, func(e, new int) int { return list[e].new - new })
		if before[i] = -1; k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, 0)
		}
		ends[k] = i
	}
	if len(ends) == 0 {
		return nil
	}
	out := make([]run, len(ends))
	for i, k := ends[len(ends)-1], len(ends)-1; k >= 0; i, k = before[i], k-1 {
		out[k] = list[i]
	}
	return out
}
