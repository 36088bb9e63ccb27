// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"slices"
)

// bracketInsert adds an item at the end of a collection in brackets, in the style of its neighbors: on a
// new line if the last item has its own line, with a trailing comma if the last item has one. A comment
// after the last item stays with that item.
func bracketInsert(src []byte, parent *node, item string, comments ...string) []splice {
	nl := newline(src)
	if len(parent.entries) == 0 {
		open := openBracket(src, parent)
		if !bytes.ContainsRune(src[open:parent.end], '\n') {
			return []splice{{open, open, item}}
		}
		indent := indentation(src, parent.end-1)
		return []splice{{open, open, nl + indent + unitOf(src) + item}}
	}
	last := parent.entries[len(parent.entries)-1]
	end := last.value.end
	comma := trailingComma(src, end, parent.end, comments)
	if !beginsLine(src, last.keyStart) {
		if comma >= 0 {
			return []splice{{comma + 1, comma + 1, " " + item + ","}}
		}
		return []splice{{end, end, ", " + item}}
	}
	line := nl + indentation(src, last.keyStart) + item
	after := end
	var splices []splice
	if comma >= 0 {
		after = comma + 1
		line += ","
	} else {
		splices = append(splices, splice{end, end, ","})
	}
	if eol := lineEnd(src, after); eol < parent.end && startsComment(src[after:eol], comments) {
		after = eol
	}
	return append(splices, splice{after, after, line})
}

// openBracket returns the position just inside an empty collection.
func openBracket(src []byte, parent *node) int {
	return parent.start + bytes.IndexAny(src[parent.start:parent.end], "{[(") + 1
}

// trailingComma returns the position of a comma after the last item, or -1.
func trailingComma(src []byte, at, end int, comments []string) int {
	for at < end {
		switch {
		case src[at] == ',':
			return at
		case bytes.IndexByte([]byte(" \t\r\n"), src[at]) >= 0:
			at++
		case bytes.HasPrefix(src[at:], []byte("/*")) && len(comments) > 1:
			size := bytes.Index(src[at:end], []byte("*/"))
			if size < 0 {
				return -1
			}
			at += size + 2
		case startsComment(src[at:end], comments):
			at = lineEnd(src, at)
		default:
			return -1
		}
	}
	return -1
}

// startsComment reports whether text begins with a comment, ignoring white space.
func startsComment(text []byte, comments []string) bool {
	text = bytes.TrimLeft(text, " \t")
	return slices.ContainsFunc(comments, func(c string) bool { return bytes.HasPrefix(text, []byte(c)) })
}

// unitOf returns a file's indentation unit, taken from its first indented line.
func unitOf(src []byte) string {
	for line := range bytes.Lines(src) {
		if text := bytes.TrimLeft(line, " \t"); len(text) < len(line) && len(bytes.TrimSpace(text)) > 0 {
			return string(line[:len(line)-len(text)])
		}
	}
	return "    "
}
