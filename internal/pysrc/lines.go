// SPDX-License-Identifier: Apache-2.0

package pysrc

import "strings"

// width is the indentation of a line, counted twice: with tab stops every 8 columns, and
// with a tab as one column. Two lines can be compared only if both counts agree;
// otherwise the result would depend on the width of a tab.
type width struct{ columns, bytes int }

// beginLine reads the indentation of a line of code, and skips lines without code.
func (l *lexer) beginLine() {
	for l.at < len(l.src) && l.err == nil {
		w := l.indentation()
		if l.at == len(l.src) {
			return
		}
		switch l.src[l.at] {
		case '#':
			l.skipComment()
		case '\n', '\r':
			l.skipNewline()
		default:
			l.indentTo(w)
			return
		}
	}
}

// indentation reads white space. If a backslash joins the line to the next one, the first line's indentation counts.
func (l *lexer) indentation() width {
	var w, joined width
	isJoined := false
	for l.at < len(l.src) && l.err == nil {
		switch l.src[l.at] {
		case ' ':
			w = width{w.columns + 1, w.bytes + 1}
		case '\t':
			w = width{w.columns/8*8 + 8, w.bytes + 1}
		case '\f':
			w = width{}
		case '\\':
			if !isJoined {
				joined, isJoined = w, true
			}
			l.joinLine()
			continue
		default:
			if isJoined && joined.columns > 0 {
				return joined
			}
			return w
		}
		l.at++
	}
	return w
}

// indentTo begins or ends blocks, depending on the indentation.
func (l *lexer) indentTo(w width) {
	top := l.indents[len(l.indents)-1]
	if w.columns > top.columns {
		if w.bytes <= top.bytes {
			l.fail("tabs and spaces are mixed in the indentation")
			return
		}
		if len(l.indents) > maxIndents {
			l.fail("blocks are nested more than %d deep", maxIndents)
			return
		}
		l.indents = append(l.indents, w)
		l.emit(indent, l.at)
		return
	}
	for w.columns < top.columns {
		l.indents = l.indents[:len(l.indents)-1]
		top = l.indents[len(l.indents)-1]
		l.emit(dedent, l.at)
	}
	if w.columns != top.columns {
		l.fail("this line's indentation matches none of the blocks around it")
		return
	}
	if w.bytes != top.bytes {
		l.fail("tabs and spaces are mixed in the indentation")
	}
}

// endLine reads the end of a line, which has no meaning inside brackets.
func (l *lexer) endLine() {
	if len(l.brackets) > 0 {
		l.skipNewline()
		return
	}
	l.emit(newline, l.at)
	l.skipNewline()
	l.beginLine()
}

// skipNewline skips a Unix, Windows or old Mac line ending.
func (l *lexer) skipNewline() {
	if strings.HasPrefix(l.src[l.at:], "\r\n") {
		l.at++
	}
	l.at++
	l.line++
	l.lineStart = l.at
}

func (l *lexer) skipComment() {
	n := strings.IndexAny(l.src[l.at:], "\r\n")
	if n < 0 {
		n = len(l.src) - l.at
	}
	l.at += n
}

// joinLine reads a backslash at the end of a line.
func (l *lexer) joinLine() {
	if l.at+1 == len(l.src) || l.src[l.at+1] != '\n' && l.src[l.at+1] != '\r' {
		l.fail("a backslash must be the last character of its line")
		return
	}
	l.at++
	l.skipNewline()
	if l.at == len(l.src) {
		l.fail("the file ends after a backslash")
	}
}
