// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/allocator"
	"snug/internal/shadow"
	"snug/internal/stream"
	"snug/internal/units"
)

// components sums the memory that is alive at the peak of allocated bytes. Additional memory that the allocator has
// reserved at its own peak is fragmentation.
func (a *Answer) components() Components {
	if a.Run == nil {
		return a.recordedComponents()
	}
	var by [shadow.Workspace + 1]uint64
	c := Components{Fragmentation: a.PeakReserved}
	a.atPeak(func(id uint32, count int, bytes uint64) {
		all := uint64(count) * bytes
		by[a.Run.World.Tag(id).Component] += all
		c.Fragmentation -= all
	})
	c.Parameters, c.Gradients, c.Optimizer = by[shadow.Parameters], by[shadow.Gradients], by[shadow.OptimizerState]
	c.Activations, c.Logits, c.Batch = by[shadow.Activations], by[shadow.Logits], by[shadow.Batch]
	c.Temporaries, c.Workspace = by[shadow.Temporaries], by[shadow.Workspace]
	return c
}

// atPeak calls yield for each allocation that exists at the peak, with the number of copies.
func (a *Answer) atPeak(yield func(id uint32, count int, bytes uint64)) {
	t := a.run.trace
	count, bytes := a.run.alive(a.Play.PeakAllocatedAt), make([]uint64, t.Allocations())
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == stream.Alloc {
			bytes[e.ID] = rounded(e.Size)
		}
	}
	for id, n := range count {
		if n > 0 && bytes[id] > 0 {
			yield(uint32(id), n, bytes[id])
		}
	}
}

// alive returns the number of live copies of each allocation after an event.
func (r *run) alive(at int) []int {
	if r.loops != nil {
		return r.loops.Alive(at)
	}
	out := make([]int, r.trace.Allocations())
	for i := range r.trace.Events[:min(at+1, len(r.trace.Events))] {
		switch e := &r.trace.Events[i]; e.Kind {
		case stream.Alloc:
			out[e.ID] = 1
		case stream.Free, stream.FreeRequested:
			out[e.ID] = 0
		}
	}
	return out
}

// rounded returns a request's size as rounded by the allocator with default options.
func rounded(n uint64) uint64 {
	return (n + allocator.Quantum - 1) / allocator.Quantum * allocator.Quantum
}

// RequestsLogits reports whether the simulated run requests this amount of memory only for logits or for the loss's
// tensors. Amounts are compared as precisely as PyTorch prints them. It is false for recorded runs.
func (a *Answer) RequestsLogits(size uint64) bool {
	if a.Run == nil || a.run == nil || a.run.trace == nil {
		return false
	}
	printed, found := units.Bytes(size).Torch(), false
	for i := range a.run.trace.Events {
		e := &a.run.trace.Events[i]
		if e.Kind != stream.Alloc || units.Bytes(e.Size).Torch() != printed {
			continue
		}
		if a.Run.World.Tag(e.ID).Component != shadow.Logits {
			return false
		}
		found = true
	}
	return found
}
