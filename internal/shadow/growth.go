// SPDX-License-Identifier: Apache-2.0

package shadow

import "snug/internal/stream"

// Growth counts the bytes that are held at the start of each iteration of a loop.
type Growth struct {
	trace *stream.Trace
	sizes map[uint32]int64 // of the allocations since the loop began
	from  int              // number of events counted so far
}

// Growth begins counting at the current event.
func (w *World) Growth() *Growth {
	return &Growth{trace: w.Trace, sizes: map[uint32]int64{}, from: len(w.Trace.Events)}
}

// Next returns how many bytes more are held than at the call before, of those allocated since the loop began.
func (g *Growth) Next() (bytes int64) {
	for _, e := range g.trace.Events[min(g.from, len(g.trace.Events)):] {
		switch e.Kind {
		case stream.Alloc:
			g.sizes[e.ID] = int64(e.Size)
			bytes += int64(e.Size)
		case stream.Free, stream.FreeRequested:
			bytes -= g.sizes[e.ID]
			delete(g.sizes, e.ID)
		}
	}
	g.from = len(g.trace.Events)
	return bytes
}
