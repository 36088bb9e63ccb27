// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// bindingLine is a line of snug.yaml with the current value as a comment.
type bindingLine struct {
	text   string
	value  string // "" for no comment
	system string // the system it was read with, or ""
}

// Lines of a snug.yaml fit a terminal. Paths cannot be shortened, so the comments are.
const (
	pageWidth     = 80
	commentColumn = 64 // comments are aligned at most this far right
	leastComment  = 20 // a comment is not cut below this width
)

// writeComments writes lines with their comments in a column. If a line reaches beyond that column, or its
// comment would be cut there, the comment directly follows the line.
func writeComments(b *bytes.Buffer, lines []bindingLine) {
	column := 0
	for _, l := range lines {
		if n := utf8.RuneCountInString(l.text); n <= commentColumn && l.value != "" {
			column = max(column, n)
		}
	}
	for _, l := range lines {
		at := utf8.RuneCountInString(l.text)
		if column > at && column+2+utf8.RuneCountInString("# "+l.value) <= pageWidth {
			at = column
		}
		comment := l.comment(pageWidth - at - 2)
		if l.value != "" && comment == "" { // no room: above the line
			indent := len(l.text) - len(strings.TrimLeft(l.text, "# "))
			l.value = "now: " + l.value
			fmt.Fprintf(b, "%s%s\n", strings.Repeat(" ", indent), l.comment(pageWidth-indent))
		}
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("%-*s  %s", at, l.text, comment), " "))
	}
}

// comment returns the comment in the given number of columns. If it is too long, the system is omitted, then
// the text is cut; "" if hardly anything would be left.
func (l bindingLine) comment(room int) string {
	if l.value == "" {
		return ""
	}
	text := "# " + l.value
	if whole := text + " (" + l.system + ")"; l.system != "" && utf8.RuneCountInString(whole) <= room {
		return whole
	}
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	if room < leastComment {
		return ""
	}
	return strings.TrimRight(firstRunes(text, room-4), " ") + " ..."
}

func oneLine(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if cut := firstRunes(first, 40); more || cut != first {
		first = cut + " ..."
	}
	return strings.TrimSpace(first)
}

// firstRunes returns at most the first n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
