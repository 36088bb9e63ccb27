// SPDX-License-Identifier: Apache-2.0

package loops

// state is a hash of everything that determines what the allocator does next. Retries are counted separately,
// because a range of events with retries is not skipped.
type state struct{ segments, retries uint64 }

// state returns the hash. It is summed over all segments, so their order does not matter.
func (p *Player) state() state {
	x := state{segments: p.held, retries: p.retries}
	for i := range p.segs {
		if s := &p.segs[i]; s.set != none {
			sum := p.sum(s)
			if s.void {
				sum = sumOf(freeMark(0), p.size(s))
			}
			x.segments += scatter(scatter(s.addr*31+uint64(s.set)) ^ sum)
		}
	}
	return x
}
