// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"sort"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// phaseWatch notes the highest allocated bytes of each phase.
type phaseWatch struct {
	trace *stream.Trace
	al    *allocator.Allocator
	phase uint32
	high  [len(phaseNames)]uint64
}

func newPhaseWatch(t *stream.Trace, al *allocator.Allocator) *phaseWatch {
	return &phaseWatch{trace: t, al: al}
}

func (p *phaseWatch) observe(i int) {
	if e := &p.trace.Events[i]; e.Kind == stream.Mark {
		p.phase = e.ID
	}
	p.high[p.phase] = max(p.high[p.phase], p.al.Allocated())
}

func (p *phaseWatch) peaks() map[string]uint64 {
	out := map[string]uint64{}
	for i, n := range phaseNames {
		out[n] = p.high[i]
	}
	return out
}

// Alive is one allocation that exists at the peak.
type Alive struct {
	Bytes     uint64
	Component string
	Path      string
}

// AliveAtPeak lists what is allocated when the peak is reached, largest first.
func (a *Answer) AliveAtPeak() []Alive {
	t, tags := a.Run.World.Trace, a.Run.World.Tags
	var out []Alive
	for _, id := range aliveAt(t, a.Play.PeakAllocatedAt) {
		out = append(out, Alive{Bytes: rounded(sizeOf(t)[id]), Component: componentNames[tags[id].Component], Path: tags[id].Path})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Bytes > out[j].Bytes })
	return out
}

// components sums up what is alive at the peak of allocated bytes; what the
// allocator holds beyond that at its own peak is fragmentation.
func components(a *Answer) map[string]uint64 {
	out := map[string]uint64{"fragmentation": 0}
	for _, n := range componentNames {
		out[n] = 0
	}
	t, tags := a.Run.World.Trace, a.Run.World.Tags
	sizes, total := sizeOf(t), uint64(0)
	for _, id := range aliveAt(t, a.Play.PeakAllocatedAt) {
		b := rounded(sizes[id])
		out[componentNames[tags[id].Component]] += b
		total += b
	}
	out["fragmentation"] = a.PeakReserved - total
	return out
}

// aliveAt is the allocations that exist after event at.
func aliveAt(t *stream.Trace, at int) []uint32 {
	alive := make([]bool, t.Allocations())
	for i := 0; i <= at && i < len(t.Events); i++ {
		switch e := &t.Events[i]; e.Kind {
		case stream.Alloc:
			alive[e.ID] = true
		case stream.Free, stream.FreeRequested:
			alive[e.ID] = false
		}
	}
	var out []uint32
	for id, is := range alive {
		if is {
			out = append(out, uint32(id))
		}
	}
	return out
}

func sizeOf(t *stream.Trace) []uint64 {
	out := make([]uint64, t.Allocations())
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == stream.Alloc {
			out[e.ID] = e.Size
		}
	}
	return out
}

// rounded is what the allocator makes of a request at its default options.
func rounded(n uint64) uint64 { return (n + 511) / 512 * 512 }

