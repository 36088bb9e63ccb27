// SPDX-License-Identifier: Apache-2.0

package allocator

import "snug/internal/stream"

// state is a hash of everything that determines what the allocator does next. The number of retries is stored
// separately, because a part of the trace with retries is not skipped.
type state struct{ blocks, retries uint64 }

// newSkips returns the parts of a trace that may be skipped. There are none if the outcome depends on more than the
// blocks and their addresses.
func (a *Allocator) newSkips(t *stream.Trace) stream.Skips[state] {
	if a.rules.tieByCreation || a.limited && a.opt.GCThreshold > 0 {
		return stream.Skips[state]{}
	}
	return stream.NewSkips[state](t)
}

// state hashes all blocks. The hash does not depend on their order.
func (a *Allocator) state() state {
	s := state{retries: a.stats.plain.AllocRetries, blocks: a.total}
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.size == 0 {
			continue
		}
		h := scatter(b.addr)
		h = scatter(h ^ b.size)
		h = scatter(h ^ uint64(b.flags)<<48 ^ uint64(b.waits)<<32 ^ uint64(b.pool)<<16 ^ uint64(b.stream))
		s.blocks += h
	}
	return s
}

// scatter spreads the bits of x over the whole result.
func scatter(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
