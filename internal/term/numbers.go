// SPDX-License-Identifier: Apache-2.0

package term

import "strconv"

// Count returns a number with commas between thousands: 13,110.
func Count(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
