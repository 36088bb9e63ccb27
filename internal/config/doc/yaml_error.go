// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// yamlError adds a position to the library's error. The library reports at most a line, and often the line of
// the value around the mistake. But text after a mistake does not change the message, so the position is the
// end of the shortest prefix with the same message. For an unclosed bracket or quote, that is soon after it
// opens.
//
// The search may find a longer prefix than the shortest; its end is still a place where this mistake shows.
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
		at -= strings.Index(name, "'") // back to the asterisk before the name
	}
	return failAt(max(at, 0), "%s", message)
}

// yamlSays returns the library's message without the line number.
func yamlSays(err error) string {
	message := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if _, text, ok := cutNumber(rest, ": "); ok {
			return text
		}
	}
	return message
}

// cutNumber cuts a number and the string after from the beginning of text. It returns the number, the rest,
// and false if text does not begin with both.
func cutNumber(text, after string) (n int, rest string, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.Atoi(text[:digits])
	rest, ok = strings.CutPrefix(text[digits:], after)
	return n, rest, ok && err == nil
}

// notText returns the position of the first byte that is not valid in text, or -1.
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
