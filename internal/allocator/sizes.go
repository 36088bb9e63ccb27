// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"math/bits"

	"snug/internal/units"
)

// Quantum is the unit that every request is rounded up to with default options.
const Quantum = 512

// PyTorch's constants are the same in every version read, from 1.7 to main. Packages bestfit and loops use them too.
// version.go lists what differs between versions.
const (
	SmallSize   = units.MiB      // the largest rounded request for the small pool
	SmallBuffer = 2 * units.MiB  // size of a segment, and of an expandable page, in the small pool
	MinLarge    = 10 * units.MiB // a segment for a request of this size or more is as large as the request
	LargeBuffer = 20 * units.MiB // size of a segment for requests below MinLarge: the default of large_segment_size
	RoundLarge  = 2 * units.MiB  // segments for requests of MinLarge or more are rounded up to a multiple of this

	minBlock       = Quantum         // the smallest block
	absurdlyLarge  = uint64(1) << 60 // refused before anything else is tried
	divisionsStart = 20              // log2 of the first size class of the divisions
)

// round returns the size of the block for n bytes, without any remainder that is too small to split off.
func (a *Allocator) round(n uint64) uint64 {
	if n < minBlock {
		return minBlock
	}
	if a.rounds {
		log := bits.Len64(n) - 1
		d := a.opt.Divisions[min(max(log-divisionsStart, 0), divisionSlots-1)]
		if d > 0 && (d > 1 || !a.rules.divisionsFrom2) && n > minBlock*d {
			return roundToDivision(n, d, log)
		}
	}
	return (n + minBlock - 1) &^ (minBlock - 1)
}

// roundToDivision rounds n up to the next of d equal steps between two powers of two. Up to 2.3, a single division
// was handled here too and did not change n.
func roundToDivision(n, d uint64, log int) uint64 {
	if d <= 1 || powerOfTwo(n) {
		return n
	}
	floor := uint64(1) << log
	step := floor >> (bits.Len64(d) - 1)
	if step == 0 {
		return 2 * floor
	}
	return (n + step - 1) &^ (step - 1)
}

// segmentSize returns the size of the new segment for a request that fits nowhere.
func (a *Allocator) segmentSize(size uint64) uint64 {
	switch {
	case size <= SmallSize:
		return SmallBuffer
	case size < MinLarge:
		return a.opt.LargeSegment
	default:
		return roundUp(size, RoundLarge)
	}
}
