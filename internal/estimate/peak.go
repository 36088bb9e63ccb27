// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/stream"
)

// Alive is one allocation that exists at the peak.
type Alive struct {
	Bytes     uint64
	Component shadow.Component
	Path      string
}

// AliveAtPeak lists what is allocated when the peak is reached, largest first.
func (a *Answer) AliveAtPeak() []Alive {
	if a.Run == nil {
		return nil // a recording has sizes and no names
	}
	var out []Alive
	a.atPeak(func(id uint32, bytes uint64) {
		tag := a.Run.World.Tag(id)
		out = append(out, Alive{Bytes: bytes, Component: tag.Component, Path: tag.Path})
	})
	slices.SortStableFunc(out, func(x, y Alive) int { return int(y.Bytes>>9) - int(x.Bytes>>9) })
	return out
}

// components sums up what is alive at the peak of allocated bytes; what the
// allocator holds beyond that at its own peak is fragmentation.
func (a *Answer) components() Components {
	if a.Run == nil {
		return a.recordedComponents()
	}
	var by [shadow.Workspace + 1]uint64
	c := Components{Fragmentation: a.PeakReserved}
	a.atPeak(func(id uint32, bytes uint64) {
		by[a.Run.World.Tag(id).Component] += bytes
		c.Fragmentation -= bytes
	})
	c.Parameters, c.Gradients, c.Optimizer = by[shadow.Parameters], by[shadow.Gradients], by[shadow.OptimizerState]
	c.Activations, c.Logits, c.Batch = by[shadow.Activations], by[shadow.Logits], by[shadow.Batch]
	c.Temporaries, c.Workspace = by[shadow.Temporaries], by[shadow.Workspace]
	return c
}

// atPeak calls yield for each allocation that exists when the peak is reached.
func (a *Answer) atPeak(yield func(id uint32, bytes uint64)) {
	t := a.run.trace
	alive := make([]uint64, t.Allocations())
	for i := range t.Events[:min(a.Play.PeakAllocatedAt+1, len(t.Events))] {
		switch e := &t.Events[i]; e.Kind {
		case stream.Alloc:
			alive[e.ID] = rounded(e.Size)
		case stream.Free, stream.FreeRequested:
			alive[e.ID] = 0
		}
	}
	for id, bytes := range alive {
		if bytes > 0 {
			yield(uint32(id), bytes)
		}
	}
}

// rounded is what the allocator makes of a request at its default options.
func rounded(n uint64) uint64 { return (n + 511) / 512 * 512 }
