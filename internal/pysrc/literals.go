// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fstring is an f-string that is being read.
type fstring struct {
	open  token
	quote string
	depth int // number of brackets open before it
}

// isPrefix reports whether a word may precede the quote of a string.
func isPrefix(word string) bool {
	switch strings.ToLower(word) {
	case "r", "b", "u", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return true
	}
	return false
}

// stringLiteral reads a string whose quote is at the given offset, but only the beginning of an f-string or t-string.
func (l *lexer) stringLiteral(quoteAt int) {
	quote := quoteOf(l.src[quoteAt:])
	if strings.ContainsAny(l.src[l.at:quoteAt], "fFtT") {
		if len(l.strings) >= maxDepth {
			l.fail("f-strings are nested more than %d deep", maxDepth)
			return
		}
		l.strings = append(l.strings, fstring{l.token(fStart, quoteAt+len(quote)), quote, len(l.brackets)})
		l.emit(fStart, quoteAt+len(quote))
		return
	}
	t, from := l.token(str, quoteAt), l.at
	l.at = quoteAt + len(quote)
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == quote[0] && strings.HasPrefix(l.src[l.at:], quote):
			l.at += len(quote)
			t.text = l.src[from:l.at]
			l.tokens = append(l.tokens, t)
			return
		case c == '\n' || c == '\r':
			if len(quote) == 1 {
				l.failAt(t.pos(), "this string does not end on its line")
				return
			}
			l.skipNewline()
		case c == '\\':
			l.skipEscape()
		default:
			l.at++
		}
	}
	l.failAt(t.pos(), "this string does not end")
}

// quoteOf returns the quote at the beginning of text: one character, or three.
func quoteOf(text string) string {
	if len(text) >= 3 && text[1] == text[0] && text[2] == text[0] {
		return text[:3]
	}
	return text[:1]
}

// skipEscape skips a backslash and the character after it, which may be a line ending.
func (l *lexer) skipEscape() {
	l.at++
	if l.at == len(l.src) {
		return
	}
	if c := l.src[l.at]; c == '\n' || c == '\r' {
		l.skipNewline()
		return
	}
	l.at++
}

// inText reports whether the lexer is in the text of an f-string, not in Python.
func (l *lexer) inText() bool {
	if len(l.strings) == 0 {
		return false
	}
	depth := l.strings[len(l.strings)-1].depth
	return len(l.brackets) == depth || l.brackets[len(l.brackets)-1].spec
}

// fstringText reads text up to a field, the end of a format spec or the end of the string.
func (l *lexer) fstringText() {
	f := l.strings[len(l.strings)-1]
	spec := len(l.brackets) > f.depth
	t, from := l.token(fText, l.at), l.at
	flush := func() {
		if l.at > from {
			t.text = l.src[from:l.at]
			l.tokens = append(l.tokens, t)
		}
	}
	for l.at < len(l.src) && l.err == nil {
		switch c := l.src[l.at]; {
		case c == f.quote[0] && strings.HasPrefix(l.src[l.at:], f.quote):
			flush()
			l.endString(f, spec)
			return
		case c == '{' || c == '}':
			if !spec && strings.HasPrefix(l.src[l.at+1:], string(c)) {
				l.at += 2
				continue
			}
			flush()
			l.brace(c, spec)
			return
		case c == '\n' || c == '\r':
			if len(f.quote) == 1 && spec { // a format spec ends with its line, but the field does not
				flush()
				l.brackets[len(l.brackets)-1].spec = false
				return
			}
			if len(f.quote) == 1 {
				l.failAt(f.open.pos(), "this f-string does not end on its line")
				return
			}
			l.skipNewline()
		case c == '\\':
			l.textEscape(f)
		default:
			l.at++
		}
	}
	l.failAt(f.open.pos(), "this f-string does not end")
}

func (l *lexer) endString(f fstring, spec bool) {
	if spec {
		l.fail("the format in this f-string has no '}'")
		return
	}
	l.strings = l.strings[:len(l.strings)-1]
	l.emit(fEnd, l.at+len(f.quote))
}

// brace begins a field, or ends one after its format spec.
func (l *lexer) brace(c byte, spec bool) {
	switch {
	case c == '{':
		l.open(true)
	case spec:
		l.close(c)
	default:
		l.fail("a single '}' in an f-string: write '}}'")
	}
}

// textEscape skips a backslash and its character. A brace is not part of the escape, except
// in a named character.
func (l *lexer) textEscape(f fstring) {
	rest := l.src[l.at+1:]
	raw := strings.ContainsAny(f.open.text, "rR")
	switch {
	case strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "}"):
		l.at++
	case !raw && strings.HasPrefix(rest, "N{"):
		end := strings.IndexAny(rest, "}\n\r\"'")
		if end < 0 || rest[end] != '}' {
			l.fail(`\N{ has no '}'`)
			return
		}
		l.at += end + 2
	default:
		l.skipEscape()
	}
}

// number reads a numeric literal.
func (l *lexer) number() {
	end := numberEnd(l.src, l.at)
	if end < len(l.src) && (isWordByte(l.src[end]) || l.src[end] >= utf8.RuneSelf) && !keywordFollows(l.src[end:]) {
		l.fail("'%s' is not a number", shortened(l.src[l.at:wordEnd(l.src, end)]))
		return
	}
	text := l.src[l.at:end]
	if len(text) > 1 && text[0] == '0' && strings.Trim(text, "0_") != "" && strings.Trim(text, "0123456789_") == "" {
		l.fail("'%s' begins with a zero: octal numbers are written 0o17", shortened(text))
		return
	}
	l.emit(number, end)
}

// wordEnd returns where the word at an offset ends.
func wordEnd(s string, at int) int {
	for at < len(s) && (isWordByte(s[at]) || s[at] >= utf8.RuneSelf) {
		at++
	}
	return at
}

// keywordFollows reports whether a keyword that may directly follow a number comes next.
func keywordFollows(rest string) bool {
	end := 0
	for end < len(rest) && rest[end] >= 'a' && rest[end] <= 'z' {
		end++
	}
	switch rest[:end] {
	case "and", "else", "for", "if", "in", "is", "not", "or":
		return true
	}
	return false
}

func numberEnd(s string, at int) int {
	if s[at] == '0' && at+1 < len(s) {
		switch s[at+1] | 0x20 {
		case 'x':
			return baseEnd(s, at, "0123456789abcdefABCDEF")
		case 'o':
			return baseEnd(s, at, "01234567")
		case 'b':
			return baseEnd(s, at, "01")
		}
	}
	end := digits(s, at, "0123456789")
	if end < len(s) && s[end] == '.' {
		end++
		if end < len(s) && isDigit(s[end]) {
			end = digits(s, end, "0123456789")
		}
	}
	if exp := end; exp < len(s) && s[exp]|0x20 == 'e' {
		exp++
		if exp < len(s) && (s[exp] == '+' || s[exp] == '-') {
			exp++
		}
		if exp < len(s) && isDigit(s[exp]) {
			end = digits(s, exp, "0123456789")
		}
	}
	if end < len(s) && s[end]|0x20 == 'j' {
		end++
	}
	return end
}

// baseEnd returns where a number such as 0xff ends; without digits, that is before its letter.
func baseEnd(s string, at int, set string) int {
	if end := digits(s, at+2, set); end > at+2 {
		return end
	}
	return at + 1
}

// digits skips digits, with single underscores between them.
func digits(s string, at int, set string) int {
	for at < len(s) {
		switch {
		case strings.IndexByte(set, s[at]) >= 0:
			at++
		case s[at] == '_' && at+1 < len(s) && strings.IndexByte(set, s[at+1]) >= 0:
			at += 2
		default:
			return at
		}
	}
	return at
}

// numberOf returns the value of a numeric literal.
func numberOf(t token) *Number {
	n := &Number{Pos: t.pos(), Text: t.text}
	text := strings.ReplaceAll(t.text, "_", "")
	based := len(text) > 1 && text[0] == '0' && strings.IndexByte("xXoObB", text[1]) >= 0
	if based || strings.Trim(text, "0123456789") == "" {
		if !based {
			text = strings.TrimLeft(text[:len(text)-1], "0") + text[len(text)-1:]
		}
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			n.Int, n.IsInt, n.Float = v, true, float64(v)
			return n
		}
	}
	if based {
		if v, ok := new(big.Int).SetString(text, 0); ok {
			n.Float, _ = new(big.Float).SetInt(v).Float64()
		}
		return n
	}
	n.Float, _ = strconv.ParseFloat(strings.TrimRight(text, "jJ"), 64)
	return n
}
