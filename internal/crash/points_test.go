// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, x := range []struct {
		n    int
		all  bool
		want []int
	}{
		{0, false, []int{}},
		{1, false, []int{1}},
		{7, false, []int{1, 7}},
		{31, false, []int{1, 11, 21, 31}},
		{4, true, []int{1, 2, 3, 4}},
	} {
		if got := spread(x.n, x.all); !slices.Equal(got, x.want) {
			t.Errorf("of %d, all %v: %v, want %v", x.n, x.all, got, x.want)
		}
	}
	if got := len(spread(1000, false)); got != 100 {
		t.Errorf("%d of 1000, want 100", got)
	}
}
