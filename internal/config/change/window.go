// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// firstDifference returns where two lines begin to differ.
func firstDifference(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// window returns about width bytes of a line around a position, with the number of omitted bytes on each
// side.
func window(line string, at, width int) string {
	text := strings.TrimRight(line, "\r\n")
	ending := line[len(text):]
	from := max(0, min(at-width/4, len(text)-width))
	to := min(len(text), from+width)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	out := text[from:to]
	if from > 0 {
		out = fmt.Sprintf("[%d bytes ...]", from) + out
	}
	if to < len(text) {
		out += fmt.Sprintf("[... %d bytes]", len(text)-to)
	}
	return out + ending
}
