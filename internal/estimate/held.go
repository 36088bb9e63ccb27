// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"slices"

	"snug/internal/shadow"
	"snug/internal/stream"
)

// Held is the part of a group of tensors that is alive at one moment.
type Held struct {
	Group int // index into the groups that Held returns; their Count is not set
	Count int // how many of its tensors are alive
}

// Held returns the tensors alive during the step that Timeline samples: for each of the columns that Areas returns,
// the largest groups of each component, at most `most` of each. It is empty where Areas is empty.
func (t *Tensors) Held(columns, most int) (groups []Group, held [][]Held) {
	a := t.answer
	if a.Run == nil || a.hasLoops() || columns == 0 {
		return nil, nil
	}
	from, to := a.stepAround(a.Play.PeakAllocatedAt)
	highest := a.highestInColumns(from, to, columns)
	ids, sizes := map[Group]int{}, make([]uint64, a.run.trace.Allocations())
	groupOf, alive := make([]int, len(sizes)), []int{}
	for i := range a.run.trace.Events[:to] {
		switch e := &a.run.trace.Events[i]; e.Kind {
		case stream.Alloc:
			g := t.group(e.ID, rounded(e.Size))
			at, known := ids[g]
			if !known {
				at = len(groups)
				ids[g], groups, alive = at, append(groups, g), append(alive, 0)
			}
			groupOf[e.ID], sizes[e.ID] = at, g.Each
			alive[at]++
		case stream.Free, stream.FreeRequested:
			if sizes[e.ID] > 0 {
				alive[groupOf[e.ID]]--
				sizes[e.ID] = 0
			}
		}
		for len(held) < columns && highest[len(held)] == i {
			held = append(held, largestOfEach(groups, alive, most))
		}
	}
	return groups, held
}

// highestInColumns returns the event with the most allocated bytes in each column of a step; of several equal ones, the last.
func (a *Answer) highestInColumns(from, to, columns int) []int {
	out, most := make([]int, columns), make([]uint64, columns)
	sizes, all := make([]uint64, a.run.trace.Allocations()), uint64(0)
	for i := range a.run.trace.Events[:to] {
		switch e := &a.run.trace.Events[i]; e.Kind {
		case stream.Alloc:
			sizes[e.ID] = rounded(e.Size)
			all += sizes[e.ID]
		case stream.Free, stream.FreeRequested:
			all -= sizes[e.ID]
			sizes[e.ID] = 0
		}
		if i < from {
			continue
		}
		if k := (i - from) * columns / (to - from); all >= most[k] {
			most[k], out[k] = all, i
		}
	}
	return out
}

// largestOfEach returns the largest groups of each component, the largest first.
func largestOfEach(groups []Group, alive []int, most int) []Held {
	bytes := func(h Held) uint64 { return uint64(h.Count) * groups[h.Group].Each }
	var out []Held
	for g, n := range alive {
		if n > 0 {
			out = append(out, Held{g, n})
		}
	}
	slices.SortFunc(out, func(x, y Held) int { return cmp.Or(cmp.Compare(bytes(y), bytes(x)), cmp.Compare(x.Group, y.Group)) })
	var kept [shadow.Workspace + 1]int
	return slices.DeleteFunc(out, func(h Held) bool {
		c := groups[h.Group].Component
		kept[c]++
		return kept[c] > most
	})
}
