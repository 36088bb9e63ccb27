// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// divisors returns the divisors of n in ascending order. splits in rules.go and round.go use them to split an
// effective batch into micro-batches.
func divisors(n int) []int {
	var out []int
	for d := 1; d*d <= n; d++ {
		if n%d == 0 {
			out = append(out, d)
			if d*d != n {
				out = append(out, n/d)
			}
		}
	}
	slices.Sort(out)
	return out
}
