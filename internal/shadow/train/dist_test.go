// SPDX-License-Identifier: Apache-2.0

package train

import (
	"fmt"
	"testing"

	"snug/internal/kernel"
	"snug/internal/shadow"
)

func newWorld() *shadow.World {
	return shadow.NewWorld(kernel.Rules{Torch: 211, Capability: 90, SMs: 132})
}

// tensorsOf makes float32 tensors with the given numbers of elements.
func tensorsOf(w *shadow.World, numels ...int) []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, n := range numels {
		out = append(out, w.Empty(shadow.Dims(n), shadow.Float32).Hold())
	}
	return out
}

func TestAssignBuckets(t *testing.T) {
	w := newWorld()
	tests := []struct {
		numels []int
		limits []uint64
		want   string
	}{
		{[]int{1, 2, 3}, nil, "[[1 2 3]]"},
		{[]int{10, 1, 1, 9, 5}, []uint64{40}, "[[10] [1 1 9] [5]]"},
		{[]int{1, 1, 3, 3, 1}, []uint64{4, 16}, "[[1] [1 3] [3 1]]"},
		{nil, []uint64{4}, "[]"},
	}
	for _, x := range tests {
		got := [][]int{}
		for _, b := range assignBuckets(tensorsOf(w, x.numels...), x.limits...) {
			var sizes []int
			for _, p := range b {
				sizes = append(sizes, p.Numel())
			}
			got = append(got, sizes)
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("assignBuckets(%v, %v) = %v, want %s", x.numels, x.limits, got, x.want)
		}
	}
}

func TestZeroPartition(t *testing.T) {
	w := newWorld()
	params := tensorsOf(w, 3, 100, 5, 60, 40, 2)
	for world, want := range map[int]int{1: 210, 2: 105, 3: 100} {
		if got := numelOf(ZeroPartition(params, world)); got != want {
			t.Errorf("with %d processes the first one updates %d elements, want %d", world, got, want)
		}
	}
}

// TestShardTables compares the sizes of the tables that the kernels read with recordings, for a block of four square
// and three wide matrices and two vectors, sharded over four processes.
func TestShardTables(t *testing.T) {
	w := newWorld()
	chunks := []int{589824, 589824, 589824, 589824, 2359296, 2359296, 2359296, 768, 768}
	splitWithSizesCopy(w, chunks, 4)
	chunkCat(w, chunks)
	splitWithSizesCopy(w, []int{24576000, 768, 24576000}, 4)
	want := []uint64{18744, 37328, 32112}
	for i, e := range []int{0, 2, 4} {
		if got := w.Trace.Events[e].Size; got != want[i] {
			t.Errorf("table %d has %d bytes, want %d", i, got, want[i])
		}
	}
}
