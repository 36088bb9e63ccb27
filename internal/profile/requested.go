// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"

	"snug/internal/allocator"
	"snug/internal/stream"
)

const quantum = allocator.Quantum

// Requested returns the peak memory of a run's tensors at a size. Each size is rounded up only as far as every
// allocator setting rounds it, so no allocator can use less. This takes one pass over the events, whereas playing
// them takes a search for each.
func (p *Program) Requested(at Point) (uint64, error) {
	values, err := p.values(at)
	if err != nil {
		return 0, err
	}
	if p.ragged != nil {
		run, err := p.raggedRun(values, at)
		if err != nil {
			return 0, err
		}
		return requestedOf(p.nearest(values), run.Trace), nil
	}
	sizes, err := p.sizes(values)
	if err != nil {
		return 0, fmt.Errorf("%s would need %w", at, err)
	}
	v := p.nearest(values)
	held := make([]uint64, v.whole.made) // bytes of each live allocation
	now := v.begun(held)
	most := now
	for offset, events := range v.whole.parts() {
		for i := range events {
			switch e := &events[i]; e.kind {
			case stream.Alloc:
				size := (sizes[e.formula] + quantum - 1) &^ (quantum - 1)
				held[e.id+offset] = size
				now += size
				most = max(most, now)
			case stream.Free, stream.FreeRequested:
				now -= held[e.id+offset]
				held[e.id+offset] = 0
			}
		}
	}
	return most, nil
}

// begun returns the memory that a variant starts with, and sets held for each allocation that may be freed.
func (v *variant) begun(held []uint64) (sum uint64) {
	for i := range v.start {
		for _, b := range v.start[i].Blocks {
			if b.Use != allocator.ActiveAllocated {
				continue
			}
			sum += b.Requested
			if b.ID < v.before {
				held[b.ID] = b.Requested
			}
		}
	}
	return sum
}
