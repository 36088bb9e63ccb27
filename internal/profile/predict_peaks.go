// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"

	"snug/internal/allocator"
	"snug/internal/bestfit"
	"snug/internal/stream"
)

// A search for the largest batch needs only the peaks of one program at many sizes. Package bestfit computes them
// without generating the stream.

// maxStreams is the largest number of CUDA streams for which package bestfit is used. It has tables for each stream,
// so with more streams it costs more memory than the saved time is worth.
const maxStreams = 64

// survey returns the largest number of a variant's allocations that are alive at once, or 0 if package bestfit cannot
// play the variant: it is too long, starts with segments of another kind, or contains anything but one allocation and
// one free of each tensor.
func (v *variant) survey() (most int) {
	if v.whole.made > bestfit.MaxAllocations || len(v.queues) > maxStreams || !bestfit.Restorable(v.start, v.queues) {
		return 0
	}
	alive := make([]bool, v.whole.made)
	count := 0
	for i := range v.start {
		for _, b := range v.start[i].Blocks {
			if b.Use == allocator.Inactive || b.ID == allocator.NoID {
				continue
			}
			if b.ID >= v.before || alive[b.ID] {
				return 0
			}
			count++
			alive[b.ID] = true
		}
	}
	most = count
	for offset, events := range v.whole.parts() {
		for i := range events {
			switch e := &events[i]; {
			case e.kind == stream.Alloc && !alive[e.id+offset]:
				count++
				alive[e.id+offset] = true
				most = max(most, count)
			case e.kind == stream.Free && alive[e.id+offset]:
				count--
				alive[e.id+offset] = false
			case e.kind != stream.Mark:
				return 0
			}
		}
	}
	return most
}

// predictPeaks is Predict for a variant that survey accepts.
func (p *Program) predictPeaks(v *variant, values []int64, at Point, kept uint64) (*Prediction, error) {
	requests, err := p.requests(values, at)
	if err != nil {
		return nil, err
	}
	player := bestfit.New(allocator.NewDriver(endless, 0), p.Torch, len(v.queues), v.whole.most+1)
	blocks := make([]int32, v.whole.made) // 0 means not allocated
	player.Restore(v.start, v.queues, blocks[:v.before])
	if kept > 0 {
		beside := bestfit.Of(kept)
		player.Alloc(&beside, 0)
	}
	for offset, events := range v.whole.parts() {
		play(player, events, requests, blocks[offset:])
	}
	return &Prediction{At: at, PeakAllocated: player.PeakAllocated, PeakReserved: player.PeakReserved}, nil
}

// play plays events; blocks holds the block of each allocation.
func play(player *bestfit.Player, events []event, requests []bestfit.Request, blocks []int32) {
	for i := 0; i < len(events); i++ {
		switch e := &events[i]; e.kind {
		case stream.Alloc:
			r := &requests[e.formula]
			switch {
			case *r == bestfit.Request{}:
			case i+1 < len(events) && events[i+1].kind == stream.Free && events[i+1].id == e.id:
				player.AllocFree(r, e.queue)
				i++
			default:
				blocks[e.id] = player.Alloc(r, e.queue)
			}
		case stream.Free:
			if b := blocks[e.id]; b != 0 {
				player.Free(b)
			}
		}
	}
}

// requests returns a Request for every formula; a zero Request means that the allocation is not made.
func (p *Program) requests(values []int64, at Point) ([]bestfit.Request, error) {
	sizes, err := p.sizes(values)
	if err != nil {
		return nil, fmt.Errorf("%s would need %w", at, err)
	}
	out := make([]bestfit.Request, len(sizes))
	for i, n := range sizes {
		if n > 0 {
			out[i] = bestfit.Of(n)
		}
	}
	return out, nil
}
