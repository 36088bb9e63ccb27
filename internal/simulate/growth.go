// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"snug/internal/setup"
	"snug/internal/stream"
	"snug/internal/units"
)

// growth returns the bytes by which a script's memory grows with each of its last updates, if the number is
// constant. A list of outputs that is never emptied causes this.
func growth(t *stream.Trace) uint64 {
	const enough = 3
	after := heldAfter(t)
	if len(after) <= enough+1 {
		return 0
	}
	last := after[len(after)-enough-1:]
	by := last[1] - last[0]
	for i := range enough {
		if last[i+1]-last[i] != by {
			return 0
		}
	}
	if by < units.MiB {
		return 0
	}
	return uint64(by)
}

// growthNote returns the note on a script that keeps n bytes more with every step. A search for the largest batch is
// not about one batch size, so the note names the size that was simulated.
func growthNote(s *setup.Setup, n uint64) string {
	at := ""
	if s.Resized() {
		at = fmt.Sprintf(" at batch %d", s.Batch)
	}
	return fmt.Sprintf("%s: it keeps %s more with every step%s, so memory never levels off; the figures are for its first steps", s.Loop, units.Bytes(n), at)
}

// heldAfter returns the bytes held at the start of each forward pass that follows an update.
func heldAfter(t *stream.Trace) (out []int64) {
	sizes, held, phase := map[uint32]uint64{}, int64(0), uint32(Load)
	for _, e := range t.Events {
		switch e.Kind {
		case stream.Alloc:
			sizes[e.ID] = e.Size
			held += int64(e.Size)
		case stream.Free, stream.FreeRequested:
			held -= int64(sizes[e.ID])
		case stream.Mark:
			if phase == Optimizer && e.ID == Forward {
				out = append(out, held)
			}
			phase = e.ID
		}
	}
	return out
}

// Growth returns the bytes by which the memory of a followed script grows with each update; 0 if it levels off.
func (r *Result) Growth() uint64 {
	if r.Loops != nil || r.World == nil || r.World.Trace == nil {
		return 0
	}
	return growth(r.World.Trace)
}
