// SPDX-License-Identifier: Apache-2.0

// Package stream defines a training step as the allocator sees it: a sequence of events, each an
// allocation or a free.
//
// All parts of snug meet here. Model families, recorded snapshots and profiles produce a Trace; the allocator, the
// planner and the report page read one. The package imports no other package of snug.
//
// An Event is sixteen bytes and a Trace is one flat slice of them, so a recording of a million events
// takes sixteen megabytes, and one of a hundred million still fits into an ordinary machine.
package stream

import (
	"fmt"
	"slices"
)

// Kind is what an event does.
type Kind uint8

// The kinds of events. Their meaning follows PyTorch's own trace entries (torch.cuda.memory._snapshot).
const (
	// Alloc requests Size bytes on Queue; ID identifies the allocation from here on.
	Alloc Kind = iota
	// Free frees ID, which no other stream uses, so the block can be reused immediately.
	Free
	// FreeRequested frees ID while another CUDA stream may still use it: it no longer counts as allocated but cannot
	// be reused yet.
	FreeRequested
	// FreeCompleted completes a FreeRequested.
	FreeCompleted
	// RecordStream means that Queue uses ID too, so that freeing it waits for Queue. Recordings do not contain it,
	// because PyTorch does not trace it.
	RecordStream
	// EmptyCache is torch.cuda.empty_cache().
	EmptyCache
	// Mark begins phase ID; the writer of the trace defines the numbers.
	Mark
)

var kindNames = [...]string{"alloc", "free", "free_requested", "free_completed", "record_stream", "empty_cache", "mark"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Event is one memory event.
type Event struct {
	Size      uint64 // Alloc: bytes requested, before any rounding
	ID        uint32 // the allocation, or the phase of a Mark
	Queue     uint16 // index into Trace.Queues: the CUDA stream
	Kind      Kind   // what happened
	Iteration uint8  // the iteration of a folded loop, counting from 1; 0 means outside loops
}

// Trace is a sequence of events in the order in which the allocator saw them.
//
// The IDs of its Alloc events are 0, 1, 2, … in order, so other data about allocations (their modules, their uses) is
// kept in slices indexed by ID. IDs below Initial belong to allocations made before the trace begins.
type Trace struct {
	Events  []Event  // in order
	Queues  []uint64 // CUDA stream handles; Queues[0] is the default stream, 0
	Initial uint32   // allocations alive at the start have the IDs [0, Initial)
	Copies  []Copy   // stretches that are repeated, in order

	next uint32
}

// Copy means that a stretch of events is repeated directly after it, with new IDs.
type Copy struct {
	From int // index of its first event
	N    int // number of events
}

// New returns an empty trace with room for n events and the default CUDA stream.
func New(n int) *Trace {
	return &Trace{Events: make([]Event, 0, n), Queues: []uint64{0}}
}

// Reset empties the trace. It keeps the capacity of its events.
func (t *Trace) Reset() { *t = Trace{Events: t.Events[:0], Queues: []uint64{0}} }

// Reserve assigns n IDs to allocations that are alive before the first event. It must be called before the first
// Alloc.
func (t *Trace) Reserve(n uint32) {
	t.Initial, t.next = n, n
}

// Alloc appends an allocation and returns its ID.
func (t *Trace) Alloc(size uint64, queue uint16) uint32 {
	id := t.next
	t.next++
	t.Events = append(t.Events, Event{Size: size, ID: id, Queue: queue, Kind: Alloc})
	return id
}

// Free appends the free of an allocation that no other CUDA stream uses.
func (t *Trace) Free(id uint32) {
	t.Events = append(t.Events, Event{ID: id, Kind: Free})
}

// Add appends an event of any kind except Alloc, whose IDs the trace assigns itself.
func (t *Trace) Add(k Kind, id uint32, queue uint16) {
	t.Events = append(t.Events, Event{ID: id, Queue: queue, Kind: k})
}

// Repeat appends another copy of the events from index from to the end, with new IDs. It does nothing and returns
// false unless every allocation among them is freed there and nothing older is touched.
func (t *Trace) Repeat(from int) bool {
	events := t.Events[from:]
	first, open := t.next, 0
	for i := range events {
		switch e := &events[i]; e.Kind {
		case Alloc:
			first = min(first, e.ID)
			open++
		case Free, FreeRequested:
			if e.ID < first {
				return false
			}
			open--
		case FreeCompleted, RecordStream, EmptyCache:
			return false
		}
	}
	if open != 0 {
		return false
	}
	shift := t.next - first
	t.next += shift
	t.Copies = append(t.Copies, Copy{from, len(events)})
	t.Events = slices.Grow(t.Events, len(events))
	for _, e := range events {
		if e.Kind != Mark {
			e.ID += shift
		}
		t.Events = append(t.Events, e)
	}
	return true
}

// Allocations returns the number of IDs in use: every ID is below it.
func (t *Trace) Allocations() uint32 { return t.next }

// Queue returns the index of a CUDA stream handle, adding it if it is new.
func (t *Trace) Queue(handle uint64) uint16 {
	for i, h := range t.Queues {
		if h == handle {
			return uint16(i)
		}
	}
	t.Queues = append(t.Queues, handle)
	return uint16(len(t.Queues) - 1)
}
