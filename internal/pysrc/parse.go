// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on the source. The limits on brackets and blocks are CPython's own.
const (
	maxDepth   = 200  // nested brackets and expressions
	maxIndents = 100  // nested blocks
	maxChain   = 1000 // a.b.c…, a + b + c…, if elif elif…: nesting without brackets
)

// Parse parses a Python file. An error is one line: the path, line and column, and what is wrong there.
func Parse(path string, src []byte) (*File, error) {
	body, err := parse(string(src))
	if err != nil {
		return nil, fmt.Errorf("%s:%d:%d: %s", path, err.at.Line, err.at.Col, err.text)
	}
	return &File{Path: path, Body: body}, nil
}

// syntaxError says why a file is refused.
type syntaxError struct {
	at   Pos
	text string
}

// parser goes through the tokens once. After an error it moves to eof, so that every loop ends without checking for
// errors.
type parser struct {
	src    string
	tokens []token
	at     int
	depth  int
	lexErr *syntaxError
	err    *syntaxError
}

func parse(src string) ([]Stmt, *syntaxError) {
	src = strings.TrimPrefix(src, "\ufeff")
	if err := checkText(src); err != nil {
		return nil, err
	}
	p := &parser{src: src}
	p.tokens, p.lexErr = tokenize(src)
	var body []Stmt
	for p.peek().kind != eof {
		body = p.statement(body)
	}
	if p.err == nil {
		p.err = p.lexErr
	}
	return body, p.err
}

// checkText returns an error for a source that is not UTF-8.
func checkText(src string) *syntaxError {
	if utf8.ValidString(src) {
		return nil
	}
	at := 0
	for at < len(src) {
		r, n := utf8.DecodeRuneInString(src[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	line := strings.Count(src[:at], "\n") + 1
	col := at - strings.LastIndexByte(src[:at], '\n')
	return &syntaxError{Pos{line, col}, "the file is not UTF-8"}
}

func (p *parser) peek() *token { return &p.tokens[p.at] }

// ahead returns the token n after the next one.
func (p *parser) ahead(n int) *token { return &p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *parser) pos() Pos { return p.tokens[p.at].pos() }

// take consumes the next token.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != eof {
		p.at++
	}
	return t
}

func (t *token) is(text string) bool { return t.kind >= keyword && t.text == text }

// is reports whether the next token is this keyword or operator.
func (p *parser) is(text string) bool { return p.tokens[p.at].is(text) }

// accept consumes a keyword or operator if it is the next token, and reports whether it was.
func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.at++
	return true
}

// expect consumes a required keyword or operator.
func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("expected '%s', found %s", text, p.peek())
	}
}

// name reads a name.
func (p *parser) name() string {
	if p.peek().kind != name {
		p.fail("expected a name, found %s", p.peek())
		return ""
	}
	return p.take().text
}

// isSoft reports whether the next token is this soft keyword.
func (p *parser) isSoft(word string) bool {
	return p.peek().kind == name && p.peek().text == word
}

// fail reports an error at the next token.
func (p *parser) fail(format string, args ...any) { p.failAt(p.pos(), format, args...) }

func (p *parser) failAt(at Pos, format string, args ...any) {
	if p.err == nil {
		p.err = &syntaxError{at, fmt.Sprintf(format, args...)}
		if p.peek().kind == eof && p.lexErr != nil {
			p.err = p.lexErr
		}
	}
	p.at = len(p.tokens) - 1
}

// enter goes one level deeper, and reports whether that is still allowed; leave goes back.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail("the source is nested more than %d deep", maxDepth)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// link counts one more link in a chain that nests without brackets, and reports whether that is still allowed.
func (p *parser) link(n *int) bool {
	*n++
	if *n > maxChain {
		p.fail("a chain has more than %d operations", maxChain)
		return false
	}
	return true
}

// try calls read, and reports whether it succeeded. If read returns false or fails, the parser goes back to where it
// was.
func (p *parser) try(read func() bool) bool {
	at, depth := p.at, p.depth
	if read() && p.err == nil {
		return true
	}
	p.at, p.depth, p.err = at, depth, nil
	return false
}
