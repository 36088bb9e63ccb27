// SPDX-License-Identifier: Apache-2.0

// Package spelling suggests the intended name for a misspelled one.
package spelling

import (
	"slices"
	"strings"
)

// Nearest returns the name with the smallest Distance from got, or "" if none is close. Different digits mean a
// different thing, not a typo: gpt3 is not close to gpt2, nor fp8 to fp32. One digit may be missing or extra.
func Nearest(got string, names []string) string {
	best, least := "", len(got)/3+2
	if len(got) <= 3 {
		least = 2 // two edits change most of such a word
	}
	for _, n := range names {
		d := Distance(strings.ToLower(got), strings.ToLower(n))
		if d < least && (SameDigits(got, n) || d == 1 && len(digits(got)) != len(digits(n))) {
			best, least = n, d
		}
	}
	if best == "" {
		return beginning(got, names)
	}
	return best
}

// SameDigits reports whether two names have the same digits, in any order.
func SameDigits(a, b string) bool { return digits(a) == digits(b) }

// digits returns the digits of a name in ascending order, so that swapped ones are equal.
func digits(name string) string {
	var out []byte
	for _, c := range []byte(name) {
		if c >= '0' && c <= '9' {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return string(out)
}

// beginning returns the name that is a prefix of got, or that has got as a prefix, because people abbreviate words or
// write them out.
func beginning(got string, names []string) string {
	const enough = 3 // minimum number of letters
	got = strings.ToLower(got)
	for _, n := range names {
		low := strings.ToLower(n)
		if len(low) >= enough && len(got) >= enough && (strings.HasPrefix(got, low) || strings.HasPrefix(low, got)) {
			return n
		}
	}
	return ""
}

// Hint returns "; did you mean NAME?", or else what to do instead.
func Hint(got string, names []string, otherwise string) string {
	if best := Nearest(got, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return "; " + otherwise
}

// Distance returns the number of letters to add, drop, change, or swap with the next one: typical typos.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
