// SPDX-License-Identifier: Apache-2.0

package freeset

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFreeSet compares a free set with a plain sorted slice.
func TestFreeSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, model := new(Set), []Entry{}
		order := func(x, y Entry) int {
			return cmp.Or(cmp.Compare(x.Size, y.Size), cmp.Compare(x.Tie, y.Tie))
		}
		size := rapid.OneOf(rapid.Uint64Range(1, 8), rapid.Uint64Range(1, 1<<14), rapid.Uint64Range(4000, 1<<30))
		scale := rapid.SampledFrom([]uint64{512, 512, 7}).Draw(t, "scale")
		for i := range rapid.IntRange(1, 400).Draw(t, "n") {
			if len(model) > 0 && rapid.IntRange(0, 3).Draw(t, "op") == 0 {
				k := rapid.IntRange(0, len(model)-1).Draw(t, "victim")
				set.Erase(model[k])
				model = slices.Delete(model, k, k+1)
			} else {
				e := Entry{size.Draw(t, "size") * scale, uint64(i) * 7919 % 1000003, int32(i)}
				set.Insert(e)
				at, _ := slices.BinarySearchFunc(model, e, order)
				model = slices.Insert(model, at, e)
			}
			want := size.Draw(t, "want") * scale
			at, _ := slices.BinarySearchFunc(model, Entry{Size: want}, order)
			c := set.SeekSize(want)
			if c.End() != (at == len(model)) || !c.End() && *set.At(c) != model[at] {
				t.Fatalf("SeekSize(%d) differs from the model", want)
			}
			if rapid.Bool().Draw(t, "held") {
				continue // the newest block is not in its bin
			}
			set.Settle()
			if p, ok := set.Prev(set.SeekSize(want)); ok != (at > 0) || ok && *set.At(p) != model[at-1] {
				t.Fatalf("the position before %d differs from the model", want)
			}
		}
		checkOrder(t, set, model)
	})
}

func checkOrder(t *rapid.T, set *Set, model []Entry) {
	var want, got []int32
	for _, e := range model {
		want = append(want, e.Block)
	}
	set.Settle()
	for c := set.SeekSize(0); !c.End(); c = set.Next(c) {
		got = append(got, set.At(c).Block)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("order differs (-model +set):\n%s", diff)
	}
	if diff := gocmp.Diff(want, set.AppendBlocks(nil)); diff != "" {
		t.Fatalf("list differs (-model +set):\n%s", diff)
	}
}

// TestFreeSetManyAlike fills one bin far beyond a chunk.
func TestFreeSetManyAlike(t *testing.T) {
	set := new(Set)
	const n = 20_000
	for i := range int32(n) {
		set.Insert(Entry{512, uint64(i) * 7919 % n, i})
	}
	for i := range uint64(n) {
		c := set.SeekSize(512)
		if e := set.At(c); e.Tie != i {
			t.Fatalf("entry %d has tie %d", i, e.Tie)
		}
		set.Remove(c)
	}
	if !set.SeekSize(0).End() {
		t.Error("the set is not empty")
	}
}
