// SPDX-License-Identifier: Apache-2.0

package profile

// cell is an entry in the table of best scores: the score of the best alignment so far, and its last move.
type cell struct {
	score int32
	step  step
}

type step uint8

const (
	start step = iota
	pair       // pairs an allocation of a with one of b
	skipA      // skips an allocation that only a has
	skipB      // skips an allocation that only b has
)

// The scores. A gap costs less than half the value of a sure pair, so that one missing allocation is recognized as
// missing and not as a series of odd sizes. Among sure pairs, those with equal lifetimes score higher.
const (
	surePair  = 10
	oddPair   = 2
	gapCost   = -4
	spanShift = 3 // the most that a different lifetime lowers the score
)

// The table starts small and doubles if the sequences do not get back in step.
const (
	smallTable = 32
	largeTable = 2048
)

// resync aligns the two sequences from a place where they differ, records the pairs on the way, and returns where
// both are in step again.
func (al *aligner) resync(i, j int) (int, int) {
	for width := smallTable; ; width *= 2 {
		n, m := min(width, len(al.a)-i), min(width, len(al.b)-j)
		pairs, ok := al.path(i, j, n, m)
		done := n == len(al.a)-i && m == len(al.b)-j
		if !ok && !done && width < largeTable {
			continue
		}
		for _, p := range pairs {
			al.pairs[p[1]] = int32(p[0])
		}
		if done || len(pairs) == 0 {
			return i + n, j + m
		}
		last := pairs[len(pairs)-1]
		return last[0] + 1, last[1] + 1
	}
}

// path fills the table for n allocations of a and m of b and traces back from its best cell. ok is true if the
// alignment ends in step, with a series of sure pairs.
func (al *aligner) path(i, j, n, m int) (pairs [][2]int, ok bool) {
	al.fill(i, j, n, m)
	x, y := al.best(n, m)
	row := 0
	for counting := true; x > 0 || y > 0; {
		switch al.table[x*(m+1)+y].step {
		case pair:
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{i + x, j + y})
			if counting = counting && al.sure(i+x, j+y); counting {
				row++
			}
		case skipA:
			x, counting = x-1, false
		default:
			y, counting = y-1, false
		}
	}
	for l, r := 0, len(pairs)-1; l < r; l, r = l+1, r-1 {
		pairs[l], pairs[r] = pairs[r], pairs[l]
	}
	return pairs, row >= ahead
}

func (al *aligner) fill(i, j, n, m int) {
	if need := (n + 1) * (m + 1); len(al.table) < need {
		al.table = make([]cell, need)
	}
	for y := 1; y <= m; y++ {
		al.table[y] = cell{int32(y) * gapCost, skipB}
	}
	for x := 1; x <= n; x++ {
		row, above := al.table[x*(m+1):], al.table[(x-1)*(m+1):]
		row[0] = cell{int32(x) * gapCost, skipA}
		for y := 1; y <= m; y++ {
			c := cell{above[y].score + gapCost, skipA}
			if s := row[y-1].score + gapCost; s > c.score {
				c = cell{s, skipB}
			}
			if s := above[y-1].score + al.worth(i+x-1, j+y-1); s > c.score {
				c = cell{s, pair}
			}
			row[y] = c
		}
	}
}

// worth returns the score of a pair.
func (al *aligner) worth(i, j int) int32 {
	switch {
	case al.sure(i, j):
		return surePair - min(apart(al.a[i].span, al.b[j].span), spanShift)
	case al.alike(i, j):
		return oddPair
	}
	return 2*gapCost - 1 // always worse than two gaps
}

// apart returns the difference between two lifetimes, in allocations.
func apart(a, b int32) int32 {
	if a > b {
		return a - b
	}
	return b - a
}

// best returns the cell with the highest score.
func (al *aligner) best(n, m int) (x, y int) {
	high := int32(-1 << 30)
	for r := 1; r <= n; r++ {
		for c := 1; c <= m; c++ {
			if s := al.table[r*(m+1)+c].score; s > high {
				high, x, y = s, r, c
			}
		}
	}
	return x, y
}
