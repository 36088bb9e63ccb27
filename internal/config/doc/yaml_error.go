// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// yamlError adds a position to the library's error. The library gives at most a line, and often that of
// the value around the mistake. But text after a mistake does not change the message, so the position is
// the end of the shortest text that gives the same message. For something that is not closed, that is
// soon after it was opened.
//
// Texts of several lengths may give the same message; the end of any of them is a place where this mistake shows.
func yamlError(src []byte, err error) error {
	message := yamlSays(err)
	same := func(size int) bool {
		_, err := yamlDocuments(src[:size])
		return err != nil && yamlSays(err) == message
	}
	starts := append(yamlLines(src)[1:], len(src))
	line := sort.Search(len(starts)-1, func(i int) bool { return same(starts[i]) })
	begin := 0
	if line > 0 {
		begin = starts[line-1]
	}
	size := begin + 1 + sort.Search(starts[line]-begin-1, func(i int) bool { return same(begin + 1 + i) })
	wrong := bytes.TrimRight(src[:min(size, len(src))], " \r\n")
	_, last := utf8.DecodeLastRune(wrong)
	at := len(wrong) - last
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		at -= strings.Index(name, "'") // to its asterisk
	}
	return failAt(max(at, 0), "%s", message)
}

// yamlSays returns the message without the line.
func yamlSays(err error) string {
	message := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if _, text, ok := cutNumber(rest, ": "); ok {
			return text
		}
	}
	return message
}

// cutNumber returns the number that text begins with, and what comes after it and the string after. It
// returns false if text does not begin with both.
func cutNumber(text, after string) (n int, rest string, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.Atoi(text[:digits])
	rest, ok = strings.CutPrefix(text[digits:], after)
	return n, rest, ok && err == nil
}

// notText returns the first byte that cannot occur in text, or -1.
func notText(src []byte) int {
	for at := 0; at < len(src); {
		r, size := utf8.DecodeRune(src[at:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}
