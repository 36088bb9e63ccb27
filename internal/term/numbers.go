// SPDX-License-Identifier: Apache-2.0

package term

import (
	"math"
	"strconv"
)

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

// ThreeDigits formats a positive number with three significant digits: 0.0123, 4.56, 87,400.
func ThreeDigits(x float64) string {
	if x <= 0 {
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64) // round before counting decimals: 9.996 becomes 10.0
	if rounded >= 100 {
		return Count(int(rounded))
	}
	return strconv.FormatFloat(rounded, 'f', 2-int(math.Floor(math.Log10(rounded))), 64)
}
