// SPDX-License-Identifier: Apache-2.0

package kernel

// CUB's temporary storage, as recorded with CUDA 13 on an H200: pieces rounded up to 256 bytes, plus 255 bytes to
// align the first. The number of items per block is tuned for each architecture and changes with CUB, so on other
// cards it may be any number in CUB's policies.
const (
	onesweepTile = 4608 // items per block if several blocks sort
	singleTile   = 2304 // maximum number of items for which one block is enough
	uniqueTile   = 4608
	scanTile     = 896
	selectTile   = 4224
	countTile    = 4096 // maximum number of items that one block counts

	smallestTile = 128
	largestTile  = 8192
)

// Sort returns the workspace of DeviceRadixSort::SortPairs over n 64-bit values and 64-bit keys, of which
// the lowest bits are compared.
func (r Rules) Sort(n, bits int) Figure {
	return r.between(Sorting, sortBytes(n, bits, singleTile, onesweepTile), sortBytes(n, bits, largestTile, largestTile), sortBytes(n, bits, smallestTile, smallestTile))
}

// sortBytes returns the total size of a histogram for each pass of eight bits, the state that blocks share,
// counters, and, with several passes, a second buffer of keys and values.
func sortBytes(n, bits, single, tile int) uint64 {
	if n <= single {
		return 1
	}
	passes, blocks := uint64(bits+7)/8, uint64(CeilDiv(n, tile))
	bytes := passes*256*8 + blocks*256*4 + 256 + 255
	if passes > 1 {
		bytes += 2 * align256(uint64(n)*8)
	}
	return bytes
}

// pairTiles is the number of items per block by the size of the keys, if they are sorted with 64-bit values.
var pairTiles = map[int]int{1: 3456, 2: 5632, 4: 5376, 8: onesweepTile}

// keyTile is the number of items per block if 64-bit keys are sorted alone.
const keyTile = 5760

// SortPairs returns the workspace of DeviceRadixSort::SortPairs over n keys of width bytes and 64-bit values, of more
// than one block sorts.
func (r Rules) SortPairs(n, width int) Figure {
	bytes := func(tile int) uint64 {
		sum := uint64(width*256*8) + uint64(CeilDiv(n, tile))*256*4 + 256 + 255
		if width > 1 {
			sum += align256(uint64(n*width)) + align256(uint64(n)*8)
		}
		return sum
	}
	return r.between(Sorting, bytes(pairTiles[width]), bytes(largestTile), bytes(smallestTile))
}

// SortRowNumbers returns the workspace of DeviceRadixSort::SortKeys over n 64-bit keys, of which at most eight bits are
// compared.
func (r Rules) SortRowNumbers(n int) Figure {
	bytes := func(tile int) uint64 { return 256*8 + uint64(CeilDiv(n, tile))*256*4 + 256 + 255 }
	return r.between(Sorting, bytes(keyTile), bytes(largestTile), bytes(smallestTile))
}

// SortSegments returns the workspace of DeviceSegmentedRadixSort::SortPairs over n keys of width bytes and 64-bit values: a
// second buffer of both.
func (r Rules) SortSegments(n, width int) Figure {
	return exactly(align256(uint64(n*width)) + align256(uint64(n)*8) + 255)
}

// Scan returns the workspace of a running sum over n numbers of width bytes each.
func (r Rules) Scan(n, width int) Figure { return r.scan(n, scanTile, width) }

// Unique returns the workspace for finding the runs of equal numbers among n numbers of width bytes each.
func (r Rules) Unique(n, width int) Figure { return r.scan(n, uniqueTile, width) }

// Select returns the workspace for collecting the positions of the true elements among n.
func (r Rules) Select(n int) Figure { return r.scan(n, selectTile, 4) }

// Count returns the workspace for counting the true elements among n (DeviceReduce::Sum): one number from each of
// five times as many blocks of 256 threads as fit on the card.
func (r Rules) Count(n int) Figure {
	blocks := align256(uint64(5*r.SMs*r.threadsPerSM()/256*4)) + 255
	if n <= smallestTile {
		return exactly(1)
	}
	if n <= countTile {
		return r.between(Sorting, 1, 1, blocks)
	}
	return r.between(Sorting, blocks, 1, blocks)
}

func (r Rules) scan(n, tile, width int) Figure {
	return r.between(Sorting, scanBytes(n, tile, width), scanBytes(n, largestTile, width), scanBytes(n, smallestTile, width))
}

// scanBytes returns the size of the state of each tile and of 32 more tiles.
func scanBytes(n, tile, width int) uint64 {
	return 256 + align256(uint64((CeilDiv(n, tile)+32)*2*width)) + 255
}

func align256(n uint64) uint64 { return (n + 255) / 256 * 256 }
