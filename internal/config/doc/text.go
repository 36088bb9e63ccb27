// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strconv"
	"strings"
)

// newline returns the line ending that a file uses.
func newline(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns the beginning of the line that contains a byte.
func lineStart(src []byte, at int) int {
	return bytes.LastIndexByte(src[:at], '\n') + 1
}

// lineEnd returns the end of the line that contains a byte, before its line ending.
func lineEnd(src []byte, at int) int {
	end := len(src)
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		end = at + i
	}
	if end > at && src[end-1] == '\r' {
		end--
	}
	return end
}

// indentation returns the leading white space of the line that contains a byte.
func indentation(src []byte, at int) string {
	line := src[lineStart(src, at):]
	line = bytes.TrimPrefix(line, []byte(bom))
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// beginsLine reports whether only white space precedes a byte on its line.
func beginsLine(src []byte, at int) bool {
	before := bytes.TrimPrefix(src[lineStart(src, at):at], []byte(bom))
	return len(bytes.TrimLeft(before, " \t")) == 0
}

// contentStart returns the first byte after a byte order mark.
func contentStart(src []byte) int {
	if bytes.HasPrefix(src, []byte(bom)) {
		return len(bom)
	}
	return 0
}

// formatFloat formats a number so that every parser reads it as a float: PyYAML reads 1e-05 as a string but
// 1.0e-05 as a number.
func formatFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	mantissa, exponent, scientific := strings.Cut(text, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if !scientific {
		return mantissa
	}
	return mantissa + "e" + exponent
}

// numeric reports whether a quoted text is a number or a boolean.
func numeric(text string) bool {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return true
	}
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
}

// bare formats a value that is not a string the way most formats write it.
func bare(value any) string {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatFloat(v)
	case string:
		return v
	}
	return "null"
}

// likeBool formats a bool in the style of another: yes and no, True and False.
func likeBool(v bool, like string) string {
	pairs := [][2]string{{"yes", "no"}, {"on", "off"}, {"y", "n"}, {"true", "false"}}
	words := pairs[3]
	for _, p := range pairs {
		if strings.EqualFold(like, p[0]) || strings.EqualFold(like, p[1]) {
			words = p
		}
	}
	word := words[1]
	if v {
		word = words[0]
	}
	switch {
	case like == "" || like == strings.ToLower(like):
		return word
	case like == strings.ToUpper(like) && len(like) > 1:
		return strings.ToUpper(word)
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
