// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRangeList compares a list with a plain sorted slice, with several parts and with blocks at the same address.
func TestRangeList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list rangeList
		var model []uint64
		blocks, in := []block{{}}, []int32{}
		spread := rapid.SampledFrom([]uint64{3, 1 << 20}).Draw(t, "spread")
		seed := rapid.Uint64().Draw(t, "seed")
		for range rapid.IntRange(0, 4*rangePart).Draw(t, "steps") {
			seed = scatter(seed + 1)
			if len(in) > 0 && seed%3 == 0 {
				k := int((seed >> 8) % uint64(len(in)))
				list.erase(blocks, in[k])
				at, _ := slices.BinarySearch(model, blocks[in[k]].addr)
				model = slices.Delete(model, at, at+1)
				in = slices.Delete(in, k, k+1)
				continue
			}
			blocks = append(blocks, block{addr: (seed >> 8) % spread})
			i := int32(len(blocks) - 1)
			list.insert(blocks, i)
			in = append(in, i)
			at, _ := slices.BinarySearch(model, blocks[i].addr)
			model = slices.Insert(model, at, blocks[i].addr)
		}
		var got []uint64
		seen := map[int32]bool{}
		list.all(func(i int32) bool {
			got, seen[i] = append(got, blocks[i].addr), true
			return true
		})
		if !slices.Equal(got, model) || len(seen) != len(in) {
			t.Fatalf("%d blocks, %d of them distinct; want %d", len(got), len(seen), len(model))
		}
	})
}
