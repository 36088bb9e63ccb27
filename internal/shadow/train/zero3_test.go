// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"
	"testing"
)

// TestGroupsOf checks that stage 3 updates a process's part in groups of a billion elements, like DeepSpeed's
// sub_group_size: a process with 8.8 billion elements, as in a 70B model on 8 GPUs, never has all float32 gradients at once.
func TestGroupsOf(t *testing.T) {
	const each = 100_000_000
	for _, c := range []struct {
		parts int
		want  []int
	}{
		{1, []int{each}},
		{9, []int{9 * each}},
		{10, []int{10 * each}},
		{25, []int{10 * each, 10 * each, 5 * each}},
	} {
		if got := groupsOf(slices.Repeat([]int{each}, c.parts)); !slices.Equal(got, c.want) {
			t.Errorf("%d parts: %v, want %v", c.parts, got, c.want)
		}
	}
}
