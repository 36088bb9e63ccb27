// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFreeSet plays a free set against a plain sorted slice.
func TestFreeSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, model := new(freeSet), []entry{}
		order := func(x, y entry) int {
			return cmp.Or(cmp.Compare(x.size, y.size), cmp.Compare(x.tie, y.tie))
		}
		size := rapid.OneOf(rapid.Uint64Range(1, 8), rapid.Uint64Range(1, 1<<14), rapid.Uint64Range(4000, 1<<30))
		scale := rapid.SampledFrom([]uint64{512, 512, 7}).Draw(t, "scale")
		for i := range rapid.IntRange(1, 400).Draw(t, "n") {
			if len(model) > 0 && rapid.IntRange(0, 3).Draw(t, "op") == 0 {
				k := rapid.IntRange(0, len(model)-1).Draw(t, "victim")
				set.erase(&model[k])
				model = slices.Delete(model, k, k+1)
			} else {
				e := entry{size.Draw(t, "size") * scale, uint64(i) * 7919 % 1000003, int32(i)}
				set.insert(&e)
				at, _ := slices.BinarySearchFunc(model, e, order)
				model = slices.Insert(model, at, e)
			}
			want := size.Draw(t, "want") * scale
			at, _ := slices.BinarySearchFunc(model, entry{size: want}, order)
			c := set.seekSize(want)
			if c.end() != (at == len(model)) || !c.end() && *set.at(c) != model[at] {
				t.Fatalf("seekSize(%d) differs from the model", want)
			}
			if p, ok := set.prev(c); ok != (at > 0) || ok && *set.at(p) != model[at-1] {
				t.Fatalf("the place before %d differs from the model", want)
			}
		}
		checkOrder(t, set, model)
	})
}

func checkOrder(t *rapid.T, set *freeSet, model []entry) {
	var want, got []int32
	for _, e := range model {
		want = append(want, e.block)
	}
	for c := set.seekSize(0); !c.end(); c = set.next(c) {
		got = append(got, set.at(c).block)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("order differs (-model +set):\n%s", diff)
	}
	if diff := gocmp.Diff(want, set.appendBlocks(nil)); diff != "" {
		t.Fatalf("list differs (-model +set):\n%s", diff)
	}
}

// TestFreeSetManyAlike fills one bin far beyond a chunk.
func TestFreeSetManyAlike(t *testing.T) {
	set := new(freeSet)
	const n = 20_000
	for i := range int32(n) {
		set.insert(&entry{512, uint64(i) * 7919 % n, i})
	}
	for i := range uint64(n) {
		c := set.seekSize(512)
		if e := set.at(c); e.tie != i {
			t.Fatalf("entry %d has tie %d", i, e.tie)
		}
		set.remove(c)
	}
	if !set.seekSize(0).end() {
		t.Error("the set is not empty")
	}
}
