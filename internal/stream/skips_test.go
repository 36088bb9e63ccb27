// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSkips checks that a copy is skipped only if it starts in the same state as the original.
func TestSkips(t *testing.T) {
	trace := &Trace{Events: make([]Event, 10), Copies: []Copy{{From: 1, N: 2}, {From: 3, N: 2}, {From: 6, N: 3}}}
	for _, tc := range []struct {
		name  string
		state func(event int) int
		want  []int // the points at which Pass was called
		next  []int // the results of Pass
	}{
		// The third stretch would end after the trace.
		{"same state", func(int) int { return 7 }, []int{1, 3, 5}, []int{1, 5, 7}},
		{"other states", func(i int) int { return i }, []int{1, 3, 5}, []int{1, 3, 5}},
		{"the last differs", func(i int) int { return i / 4 }, []int{1, 3, 5}, []int{1, 5, 5}},
	} {
		var points, next []int
		s := NewSkips[int](trace)
		for s.Point() >= 0 {
			at := s.Point()
			points, next = append(points, at), append(next, s.Pass(at, tc.state(at)))
		}
		if d := cmp.Diff(tc.want, points) + cmp.Diff(tc.next, next); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
	if none := (Skips[int]{}); none.Point() != -1 {
		t.Errorf("the zero value stops at event %d", none.Point())
	}
}
