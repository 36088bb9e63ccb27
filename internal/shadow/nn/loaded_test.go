// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNaturalKey checks the order in which transformers loads weights.
func TestNaturalKey(t *testing.T) {
	names := strings.Fields("h.10.w h.2.w h.2.b wte.w ln_f.w shard_11.w shard_2.w h.2.w1 h.x.w")
	slices.SortFunc(names, func(x, y string) int { return slices.CompareFunc(naturalKey(x), naturalKey(y), part.compare) })
	want := "h.2.b h.2.w h.2.w1 h.10.w h.x.w ln_f.w shard_2.w shard_11.w wte.w"
	if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
}

// TestWarmup checks how much caching_allocator_warmup reserves.
func TestWarmup(t *testing.T) {
	for _, x := range []struct{ need, unused, want uint64 }{
		{1000, 0, 1000},
		{1001, 0, 1000},
		{1000, 100, 900},
		{1000, 600, 0},
		{10 << 30, 6 << 30, 6<<30 + 0}, // one byte more than unused, rounded down to an even number
	} {
		if got := warmup(x.need, x.unused); got != x.want {
			t.Errorf("warmup(%d, %d) = %d, want %d", x.need, x.unused, got, x.want)
		}
	}
}
