// SPDX-License-Identifier: Apache-2.0

package stream

import "slices"

// Changes describes how a stretch of a trace differs when it is repeated.
type Changes struct {
	Renew []uint32 // allocations that it left alive and that are allocated again; the new IDs replace them
	Ends  []End    // other allocations that it left alive and that are now freed inside it, by position
}

// End frees allocation ID before the event at index At.
type End struct {
	At int    // index into the events
	ID uint32 // the allocation
}

// Again appends the events [from, to) once more, with the changes. Allocations that they left alive and that the
// changes do not name already exist and are not allocated again. ok is false, and nothing is appended, if the events
// touched anything older. made has the old ID of each new allocation, in order.
func (t *Trace) Again(from, to int, c Changes) (made []uint32, ok bool) {
	first, now := t.fates(from, to)
	if now == nil {
		return nil, false
	}
	for _, id := range c.Renew {
		if !now.markFreed(id - first) {
			return nil, false
		}
	}
	for _, e := range c.Ends {
		if !now.markFreed(e.ID - first) {
			return nil, false
		}
	}
	made = make([]uint32, 0, len(now))
	t.Events = slices.Grow(t.Events, to-from+len(c.Ends))
	ends := c.Ends
	for i := from; i < to; i++ {
		for ; len(ends) > 0 && ends[0].At == i; ends = ends[1:] {
			t.Free(now[ends[0].ID-first])
		}
		switch e := t.Events[i]; {
		case e.Kind == Mark:
			t.Events = append(t.Events, e)
		case e.Kind == Free:
			e.ID = now[e.ID-first]
			t.Events = append(t.Events, e)
		case now[e.ID-first] == goes:
			made = append(made, e.ID)
			now[e.ID-first] = t.next
			e.ID = t.next
			t.Events = append(t.Events, e)
			t.next++
		}
	}
	for _, e := range ends {
		t.Free(now[e.ID-first])
	}
	for i, id := range c.Renew {
		c.Renew[i] = now[id-first]
	}
	return made, true
}

// fates records, for each allocation of a stretch, starting with the first ID, whether it is freed within the stretch
// or stays.
type fates []uint32

const (
	stays = iota
	goes
)

// fates returns the first ID of a stretch and the fates of its allocations; nil if it frees something older or
// involves another CUDA stream.
func (t *Trace) fates(from, to int) (first uint32, f fates) {
	first = t.next
	f = fates{}
	for i := range t.Events[from:to] {
		switch e := &t.Events[from+i]; e.Kind {
		case Alloc:
			first = min(first, e.ID)
			f = append(f, stays)
		case Free:
			if e.ID < first {
				return 0, nil
			}
			f[e.ID-first] = goes
		case FreeRequested, FreeCompleted, RecordStream, EmptyCache:
			return 0, nil
		}
	}
	return first, f
}

// markFreed marks an allocation as freed. It returns false if that one is already freed or unknown.
func (f fates) markFreed(i uint32) bool {
	if i >= uint32(len(f)) || f[i] == goes {
		return false
	}
	f[i] = goes
	return true
}
