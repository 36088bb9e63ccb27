// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer splits source into tokens, in one pass from left to right. It stops at the first error, which the parser
// reports if it gets that far.
type lexer struct {
	src       string
	at        int // the next byte
	line      int // line number of at, from 1
	lineStart int // offset where that line begins
	tokens    []token
	indents   []width
	brackets  []bracket
	strings   []fstring // open f-strings, outermost first
	err       *syntaxError
}

// bracket is an open bracket.
type bracket struct {
	open  token
	field bool // the brace of a field in an f-string
	spec  bool // a field whose format spec has begun
}

// tokenize returns the tokens of a source; the last one is eof.
func tokenize(src string) ([]token, *syntaxError) {
	l := &lexer{src: src, line: 1, indents: []width{{}}, tokens: make([]token, 0, len(src)/4+8)}
	l.beginLine()
	for l.err == nil && l.at < len(src) {
		l.next()
	}
	l.finish()
	return l.tokens, l.err
}

// finish ends the last line and all open blocks.
func (l *lexer) finish() {
	if l.err == nil && len(l.strings) > 0 {
		l.failAt(l.strings[len(l.strings)-1].open.pos(), "this f-string does not end")
	}
	if n := len(l.brackets); l.err == nil && n > 0 {
		open := l.brackets[n-1].open
		l.failAt(open.pos(), "'%s' is never closed", open.text)
	}
	if l.err == nil {
		if n := len(l.tokens); n > 0 && l.tokens[n-1].kind != newline && l.tokens[n-1].kind != dedent {
			l.emit(newline, l.at)
		}
		for range l.indents[1:] {
			l.emit(dedent, l.at)
		}
	}
	l.emit(eof, l.at)
}

// next reads one token, or skips white space and comments.
func (l *lexer) next() {
	if l.inText() {
		l.fstringText()
		return
	}
	switch c := l.src[l.at]; {
	case c == ' ' || c == '\t' || c == '\f':
		l.at++
	case c == '\n' || c == '\r':
		l.endLine()
	case c == '#':
		l.skipComment()
	case c == '\\':
		l.joinLine()
	case isDigit(c) || c == '.' && l.at+1 < len(l.src) && isDigit(l.src[l.at+1]):
		l.number()
	case c == '"' || c == '\'':
		l.stringLiteral(l.at)
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf:
		l.word()
	default:
		l.operator()
	}
}

// emit adds a token that ends at end, and continues after it.
func (l *lexer) emit(k kind, end int) {
	l.tokens = append(l.tokens, l.token(k, end))
	l.at = end
}

func (l *lexer) token(k kind, end int) token {
	return token{
		text: l.src[l.at:end], kind: k,
		off: int32(l.at), line: int32(l.line), col: int32(l.at - l.lineStart + 1),
	}
}

// word reads a name, a keyword, or the prefix of a string.
func (l *lexer) word() {
	end := l.at
	for end < len(l.src) {
		c := l.src[end]
		if isWordByte(c) {
			end++
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, size := utf8.DecodeRuneInString(l.src[end:])
		if !isLetter(r) && (end == l.at || !continuesName(r)) {
			l.at = end
			l.fail("the character %q (U+%04X) has no meaning here", r, r)
			return
		}
		end += size
	}
	text := l.src[l.at:end]
	if end < len(l.src) && (l.src[end] == '"' || l.src[end] == '\'') && isPrefix(text) {
		l.stringLiteral(end)
		return
	}
	if isKeyword(text) {
		l.emit(keyword, end)
		return
	}
	l.emit(name, end)
}

// operator reads an operator or a bracket.
func (l *lexer) operator() {
	n := operatorLen(l.src[l.at:])
	if n == 0 {
		l.badCharacter()
		return
	}
	switch c := l.src[l.at]; c {
	case '(', '[', '{':
		l.open(false)
		return
	case ')', ']', '}':
		l.close(c)
		return
	case ':':
		if top := len(l.brackets) - 1; top >= 0 && l.brackets[top].field {
			l.brackets[top].spec = true
			n = 1 // here := begins a format spec
		}
	}
	l.emit(op, l.at+n)
}

func (l *lexer) badCharacter() {
	switch c := l.src[l.at]; {
	case c == '`':
		l.fail("backquotes are Python 2; this file must be Python 3")
	case c == 0:
		l.fail("the file contains a zero byte, so it is not Python source")
	default:
		l.fail("the character %q has no meaning here", rune(c))
	}
}

// open reads an opening bracket.
func (l *lexer) open(field bool) {
	if len(l.brackets) >= maxDepth {
		l.fail("brackets are nested more than %d deep", maxDepth)
		return
	}
	l.brackets = append(l.brackets, bracket{open: l.token(op, l.at+1), field: field})
	l.emit(op, l.at+1)
}

// close reads a closing bracket, which must match the innermost open one.
func (l *lexer) close(c byte) {
	last := len(l.brackets) - 1
	if last < 0 || len(l.strings) > 0 && last < l.strings[len(l.strings)-1].depth {
		l.fail("'%c' is unmatched", c)
		return
	}
	open := l.brackets[last].open
	if closing := strings.IndexByte(")]}", c); open.text != "([{"[closing:closing+1] {
		l.fail("'%c' does not match '%s' on line %d", c, open.text, open.line)
		return
	}
	l.brackets = l.brackets[:last]
	l.emit(op, l.at+1)
}

func (l *lexer) fail(format string, args ...any) {
	l.failAt(Pos{l.line, l.at - l.lineStart + 1}, format, args...)
}

func (l *lexer) failAt(at Pos, format string, args ...any) {
	if l.err == nil {
		l.err = &syntaxError{at, fmt.Sprintf(format, args...)}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte reports whether an ASCII byte may be part of a name.
func isWordByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c)
}

func isLetter(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
}

func continuesName(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}
