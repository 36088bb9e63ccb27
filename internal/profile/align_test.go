// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lives returns short-lived allocations of the given sizes.
func lives(sizes ...uint64) []lifetime {
	out := make([]lifetime, len(sizes))
	for i, s := range sizes {
		out[i] = lifetime{size: s}
	}
	return out
}

func TestAlign(t *testing.T) {
	double := []ratio{{2, 1}}
	tests := map[string]struct {
		a, b []lifetime
		want []int32
	}{
		"the same": {lives(1, 2, 3), lives(1, 2, 3), []int32{0, 1, 2}},
		"proportional to the batch": {
			lives(10, 20, 30), lives(20, 40, 60), []int32{0, 1, 2}},
		"one more in the middle": {
			lives(10, 11, 12, 13, 14, 15, 16, 17), lives(20, 22, 24, 999, 26, 28, 30, 32, 34), []int32{0, 1, 2, none, 3, 4, 5, 6, 7}},
		"one less in the middle": {
			lives(10, 11, 12, 999, 13, 14, 15, 16, 17), lives(20, 22, 24, 26, 28, 30, 32, 34), []int32{0, 1, 2, 4, 5, 6, 7, 8}},
		"a size without a rule": {
			lives(10, 11, 777, 12, 13, 14, 15, 16, 17), lives(20, 22, 1000, 24, 26, 28, 30, 32, 34), []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		"nothing": {nil, lives(1), []int32{none}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, align(tt.a, tt.b, double)); diff != "" {
				t.Errorf("align (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAlignByLifetime checks that lifetimes distinguish allocations of equal size: a copy at batch 1 can have the
// size that something else has at batch 2.
func TestAlignByLifetime(t *testing.T) {
	a := []lifetime{{size: 5, span: 0}, {size: 130, span: 3}, {size: 130, span: 40}, {size: 4, span: 50}, {size: 4, span: 20}, {size: 7}, {size: 8}, {size: 9}, {size: 10}, {size: 11}, {size: 12}}
	b := []lifetime{{size: 10, span: 0}, {size: 130, span: 1}, {size: 260, span: 4}, {size: 16, span: 41}, {size: 260, span: 40}, {size: 4, span: 50}, {size: 4, span: 20}, {size: 14}, {size: 16}, {size: 18}, {size: 20}, {size: 22}, {size: 24}}
	want := []int32{0, none, 1, none, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if diff := cmp.Diff(want, align(a, b, []ratio{{2, 1}})); diff != "" {
		t.Errorf("align (-want +got):\n%s", diff)
	}
}

func TestStacksDecide(t *testing.T) {
	a := []lifetime{{size: 10, stack: 1}, {size: 10, stack: 2}, {size: 10, stack: 3}}
	b := []lifetime{{size: 20, stack: 1}, {size: 20, stack: 3}}
	if diff := cmp.Diff([]int32{0, 2}, align(a, b, []ratio{{2, 1}})); diff != "" {
		t.Errorf("align (-want +got):\n%s", diff)
	}
}

// TestAlignFindsWhatIsMissing checks that allocations present in both recordings are matched whatever one of them
// lacks, as long as both have the same end.
func TestAlignFindsWhatIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		var a, b []lifetime
		var want []int32
		for i := range n + 2*ahead {
			l := lifetime{size: uint64(1000 + 7*i)} // all different, and none three times another
			a = append(a, l)
			if i >= n || rapid.IntRange(0, 9).Draw(t, "drop") > 0 {
				l.size *= 3
				b, want = append(b, l), append(want, int32(i))
			}
		}
		if diff := cmp.Diff(want, align(a, b, []ratio{{3, 1}})); diff != "" {
			t.Fatalf("align (-want +got):\n%s", diff)
		}
	})
}
