// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"os"
	"testing"
)

// share is the inverse of the fraction of points that are run by default.
const share = 10

// Points chooses which of the failure points 1 to n a test runs: a tenth of them, evenly spaced and including the
// first and the last, or all if SNUG_TEST_ALL=1. It logs how many.
func Points(t testing.TB, n int) []int {
	t.Helper()
	points := spread(n, os.Getenv("SNUG_TEST_ALL") == "1")
	t.Logf("%d of %d points", len(points), n)
	return points
}

func spread(n int, all bool) []int {
	count := max((n+share-1)/share, min(n, 2))
	if all {
		count = n
	}
	points := make([]int, count)
	for i := range points {
		points[i] = 1 + i*(n-1)/max(count-1, 1)
	}
	return points
}
