// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSegmentList compares a list of several parts with a plain sorted slice.
func TestSegmentList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var model []Segment
		for i := range rapid.IntRange(0, 3*partCap).Draw(t, "begin") {
			model = append(model, Segment{Addr: uint64(i+1) * 64, Size: 32})
		}
		list := newSegmentList(model)
		burst := rapid.SampledFrom([]int{1, 1, partCap}).Draw(t, "burst")
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			addr := rapid.Uint64Range(0, 64*4*partCap).Draw(t, "addr") / 16 * 16
			p, held := list.find(addr)
			at, _ := slices.BinarySearchFunc(model, addr, func(s Segment, a uint64) int {
				return map[bool]int{true: -1, false: 1}[s.Addr <= a]
			})
			ok := at > 0 && addr < model[at-1].end()
			if ok {
				at--
			}
			if held != ok {
				t.Fatalf("%d is held: %v, want %v", addr, held, ok)
			}
			sides(t, list, p, model, at)
			for i := range uint64(burst) {
				switch {
				case held && at < len(model):
					list.removeAfter(p)
					model = slices.Delete(model, at, at+1)
				case !held:
					s := Segment{Addr: addr, Size: 1, Stream: i}
					p = list.insert(p, s)
					model = slices.Insert(model, at, s)
					at++
				}
				sides(t, list, p, model, at)
			}
			if !slices.IsSortedFunc(model, func(a, b Segment) int { return int(a.Addr) - int(b.Addr) }) {
				t.Fatal("the model is out of order")
			}
		}
		if diff := cmp.Diff(slices.Concat(model), list.all()); diff != "" {
			t.Fatalf("(-model +list):\n%s", diff)
		}
	})
}

// sides compares the segments on either side of a position.
func sides(t *rapid.T, list *segmentList, p position, model []Segment, at int) {
	if b := list.before(p); (b == nil) != (at == 0) || b != nil && b.Addr != model[at-1].Addr {
		t.Fatalf("before %v: %v, want segment %d", p, b, at-1)
	}
	if a := list.after(p); (a == nil) != (at == len(model)) || a != nil && a.Addr != model[at].Addr {
		t.Fatalf("after %v: %v, want segment %d", p, a, at)
	}
}
