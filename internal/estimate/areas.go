// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/shadow"
	"snug/internal/stream"
)

// Areas returns the allocated bytes during the step that Timeline samples, by component and column. Each column shows
// the moment with the most allocated bytes. It is empty for recordings, which do not show what memory is used for,
// and for runs with folded loops.
func (a *Answer) Areas(columns int) [shadow.Workspace + 1][]uint64 {
	var out [shadow.Workspace + 1][]uint64
	if a.Run == nil || a.hasLoops() || columns == 0 {
		return out
	}
	for c := range out {
		out[c] = make([]uint64, columns)
	}
	from, to := a.stepAround(a.Play.PeakAllocatedAt)
	var now [shadow.Workspace + 1]uint64
	sizes, all, most := make([]uint64, a.run.trace.Allocations()), uint64(0), make([]uint64, columns)
	for i := range a.run.trace.Events[:to] {
		e := &a.run.trace.Events[i]
		switch e.Kind {
		case stream.Alloc:
			sizes[e.ID] = rounded(e.Size)
			all += sizes[e.ID]
			now[a.Run.World.Tag(e.ID).Component] += sizes[e.ID]
		case stream.Free, stream.FreeRequested:
			all -= sizes[e.ID]
			now[a.Run.World.Tag(e.ID).Component] -= sizes[e.ID]
			sizes[e.ID] = 0
		}
		if i < from {
			continue
		}
		if k := (i - from) * columns / (to - from); all >= most[k] {
			most[k] = all
			for c := range out {
				out[c][k] = now[c]
			}
		}
	}
	return out
}
