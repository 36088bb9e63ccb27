// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/shadow"
	"snug/internal/simulate"
	"snug/internal/stream"
)

// floors returns the memory that a run needs at any batch, length and checkpointing: floor is the larger of the
// peak during loading and the sum of weights, gradients and states at the start of the optimizer step; weights is
// the size of the weights alone, as loaded.
func floors(t *stream.Trace, tags []shadow.Tag) (floor, weights uint64) {
	sizes := make([]uint64, len(tags))
	var all, lasting uint64
	phase := uint32(simulate.Load)
	for i := range t.Events {
		switch e := &t.Events[i]; e.Kind {
		case stream.Alloc:
			sizes[e.ID] = e.Size
			all += e.Size
			if lasts(tags[e.ID].Component) {
				lasting += e.Size
			}
			if phase == simulate.Load {
				floor, weights = max(floor, all), max(weights, lasting)
			}
		case stream.Free, stream.FreeRequested:
			all -= sizes[e.ID]
			if lasts(tags[e.ID].Component) {
				lasting -= sizes[e.ID]
			}
		case stream.Mark:
			if phase = e.ID; phase == simulate.Optimizer {
				floor = max(floor, lasting)
			}
		}
	}
	return floor, weights
}

// lasts reports whether this kind of memory has the same size at any batch.
func lasts(c shadow.Component) bool {
	return c == shadow.Parameters || c == shadow.Gradients || c == shadow.OptimizerState
}
