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

// ThreeDigits writes a positive number with three significant digits: 0.0123, 4.56, 87,400.
func ThreeDigits(x float64) string {
	switch {
	case x <= 0:
		return "0"
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(x)))), 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return Count(int(math.Round(math.Round(x/unit) * unit)))
}
