// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pyToken is a Python word, number, string or operator.
type pyToken struct {
	kind       pyKind
	depth      int32 // how many brackets are open around it
	text       string
	start, end int
	// closing is the distance, in tokens, from an opening bracket to its closing bracket.
	closing int
}

type pyKind uint8

const (
	pyName pyKind = iota
	pyNumber
	pyString
	pySign
	pyNewline // the end of a logical line
)

// pyScanner splits Python into tokens. It handles what configs use: all string literals, comments, brackets
// and line continuations.
type pyScanner struct {
	src    []byte
	text   string // src as a string, so that tokens can be slices of it
	at     int
	open   []int // indexes of the open brackets' tokens
	tokens []pyToken
}

func scanPython(src []byte) ([]pyToken, error) {
	s := pyScanner{src: src, text: string(src), at: contentStart(src), tokens: make([]pyToken, 0, len(src)/4)}
	for s.at < len(src) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if len(s.open) > 0 {
		at := s.tokens[s.open[len(s.open)-1]].start
		return nil, failAt(at, "the bracket %c is not closed", src[at])
	}
	s.add(pyNewline, len(src))
	return s.tokens, nil
}

func (s *pyScanner) add(kind pyKind, end int) {
	s.tokens = append(s.tokens, pyToken{kind: kind, text: s.text[s.at:end], start: s.at, end: end, depth: int32(len(s.open))})
	s.at = end
}

// next reads one token, or skips what is between tokens.
func (s *pyScanner) next() error {
	c := s.src[s.at]
	switch {
	case c == '\n' && len(s.open) == 0:
		s.add(pyNewline, s.at+1)
	case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f':
		s.at++
	case c == '\\':
		s.at = min(lineEnd(s.src, s.at)+1, len(s.src))
		if s.at < len(s.src) && s.src[s.at-1] == '\r' {
			s.at++
		}
	case c == '#':
		s.at = lineEnd(s.src, s.at)
	case c == '"' || c == '\'':
		return s.quoted(s.at)
	case c >= '0' && c <= '9' || c == '.' && s.at+1 < len(s.src) && isDigit(s.src[s.at+1]):
		s.number()
	case c == '_' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)):
		return s.word()
	default:
		return s.sign(c)
	}
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// word reads a name, or a string with its prefix.
func (s *pyScanner) word() error {
	end := s.at
	for end < len(s.src) {
		r, size := utf8.DecodeRune(s.src[end:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		end += size
	}
	if end == s.at {
		return failAt(s.at, "found %q, which is not Python", s.src[s.at:min(s.at+1, len(s.src))])
	}
	if end < len(s.src) && (s.src[end] == '"' || s.src[end] == '\'') && isPrefix(s.text[s.at:end]) {
		return s.quoted(end)
	}
	s.add(pyName, end)
	return nil
}

// isPrefix reports whether a word may be the prefix of a string literal.
func isPrefix(word string) bool {
	return len(word) <= 2 && strings.Trim(strings.ToLower(word), "rbuft") == ""
}

func (s *pyScanner) number() {
	end := s.at
	hexadecimal := len(s.text) > s.at+1 && s.text[s.at] == '0' && s.text[s.at+1]|0x20 == 'x'
	for end < len(s.src) {
		c := s.src[end]
		sign := (c == '+' || c == '-') && (s.src[end-min(1, end)]|0x20) == 'e' && !hexadecimal
		if !isDigit(c) && c != '_' && c != '.' && !unicode.IsLetter(rune(c)) && (!sign || end == s.at) {
			break
		}
		end++
	}
	s.add(pyNumber, end)
}

// quoted reads a string whose opening quotes are at the given byte.
func (s *pyScanner) quoted(quotes int) error {
	quote := s.src[quotes : quotes+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(s.src[quotes:], triple) {
		quote = triple
	}
	for i := quotes + len(quote); i < len(s.src); i++ {
		switch {
		case s.src[i] == '\\':
			i++
		case bytes.HasPrefix(s.src[i:], quote):
			s.add(pyString, i+len(quote))
			return nil
		case s.src[i] == '\n' && len(quote) == 1:
			return failAt(quotes, "the string is not closed")
		}
	}
	return failAt(quotes, "the string is not closed")
}

// pySigns are the operators of more than one character that matter here.
var pySigns = []string{"**=", "//=", ">>=", "<<=", "==", "!=", "<=", ">=", ":=", "->", "**", "//", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "<<", ">>"}

var pyBrackets = map[byte]byte{')': '(', ']': '[', '}': '{'}

func (s *pyScanner) sign(c byte) error {
	if opening, ok := pyBrackets[c]; ok {
		if err := s.close(opening); err != nil {
			return err
		}
	}
	end := s.at + 1
	if end < len(s.text) && strings.IndexByte("=*/<>", s.text[end]) >= 0 { // operators like **= and //=
		for _, sign := range pySigns {
			if strings.HasPrefix(s.text[s.at:], sign) {
				end = s.at + len(sign)
				break
			}
		}
	}
	s.add(pySign, end)
	if c == '(' || c == '[' || c == '{' {
		if s.open = append(s.open, len(s.tokens)-1); len(s.open) > maxDepth {
			return failAt(s.at-1, "brackets are nested more than %d deep here; deeper ones are not read", maxDepth)
		}
	}
	return nil
}

// close closes the last open bracket, which must match.
func (s *pyScanner) close(opening byte) error {
	last := len(s.open) - 1
	if last < 0 || s.tokens[s.open[last]].text[0] != opening {
		return failAt(s.at, "the bracket %c has no opening bracket", s.src[s.at])
	}
	s.tokens[s.open[last]].closing = len(s.tokens) - s.open[last]
	s.open = s.open[:last]
	return nil
}
