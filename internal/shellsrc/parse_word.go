// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"fmt"
	"strings"
)

// SyntaxError is a mistake in a script, with its offset.
type SyntaxError struct {
	At   int    // the offset of the mistake
	Text string // what is wrong
}

// Error returns what is wrong.
func (e *SyntaxError) Error() string { return e.Text }

func (p *parser) failAt(at int, format string, args ...any) error {
	return &SyntaxError{max(p.place(at), 0), fmt.Sprintf(format, args...)}
}

// metacharacters end a word.
const metacharacters = " \t\r\n;|&()<>"

// word reads a word to its end.
func (p *parser) word(ends string) (word, error) {
	begin, content := p.at, p.at
	for p.at < len(p.src) {
		c := p.src[p.at]
		if c == '\\' && p.continues(p.at) {
			p.at = p.afterBreak(p.at + 1)
			continue
		}
		if strings.IndexByte(ends, c) >= 0 {
			break
		}
		end, err := p.piece(p.at, 0)
		if err != nil {
			return word{}, err
		}
		p.at, content = end, end
	}
	return p.wordOf(begin, content)
}

// wordOf returns the word between two offsets.
func (p *parser) wordOf(begin, end int) (word, error) {
	w := word{raw: p.src[begin:end], start: -1, end: -1}
	if end > begin && p.place(begin) >= 0 && p.place(end-1) == p.place(begin)+end-1-begin {
		w.start, w.end = p.place(begin), p.place(end-1)+1
	}
	var err error
	w.parts, err = p.parts(begin, end, bare, 0)
	return w, err
}

// continues reports whether a backslash is the last character of its line.
func (p *parser) continues(at int) bool {
	return strings.HasPrefix(p.src[at+1:], "\n") || strings.HasPrefix(p.src[at+1:], "\r\n")
}

func (p *parser) afterBreak(at int) int {
	if p.src[at] == '\r' {
		at++
	}
	return at + 1
}

// piece returns the end of the piece of a word at an offset: a character, a quoted text, or a substitution.
func (p *parser) piece(at, depth int) (int, error) {
	if depth > maxDepth {
		return 0, p.failAt(at, "substitutions are nested more than %d deep here, and are not read any deeper", maxDepth)
	}
	next := byte(0)
	if at+1 < len(p.src) {
		next = p.src[at+1]
	}
	switch c := p.src[at]; {
	case c == '\\':
		return min(at+2, len(p.src)), nil
	case c == '\'':
		if i := strings.IndexByte(p.src[at+1:], '\''); i >= 0 {
			return at + i + 2, nil
		}
		return 0, p.failAt(at, "the quote is not closed")
	case c == '$' && next == '\'':
		return p.until(at+1, '\'', depth)
	case c == '"' || c == '`':
		return p.until(at, c, depth)
	case c == '$' && next == '(':
		return p.until(at+1, ')', depth)
	case c == '$' && next == '{':
		return p.until(at+1, '}', depth)
	}
	return at + 1, nil
}

// until returns the offset after the closing character of a bracket or quote.
func (p *parser) until(open int, closing byte, depth int) (int, error) {
	parentheses := 0
	for at := open + 1; at < len(p.src); {
		c := p.src[at]
		switch {
		case c == closing && parentheses == 0:
			return at + 1, nil
		case closing == ')' && c == '(':
			parentheses++
		case closing == ')' && c == ')':
			parentheses--
		case closing == ')' && c == '#' && strings.IndexByte(" \t\n;", p.src[at-1]) >= 0:
			at = p.lineEnd(at) // skip comments, which may contain quotes
			continue
		case closing == '"' && c == '\'', closing == '\'' && c != '\\':
			at++ // a literal character
			continue
		}
		end, err := p.piece(at, depth+1)
		if err != nil {
			return 0, err
		}
		at = end
	}
	return 0, p.failAt(open, "%c is not closed", p.src[open])
}

// quoting is how the text around a part is quoted.
type quoting int

const (
	bare    quoting = iota
	doubled         // in double quotes
	inner           // in double quotes within ${…}, where double quotes can begin again
)

// parts returns the parts of a word, or of the text inside double quotes.
func (p *parser) parts(begin, end int, how quoting, depth int) ([]part, error) {
	var out []part
	literal, quoted := begin, how != bare
	flush := func(to int) {
		out = p.literal(out, literal, to, quoted)
	}
	for at := begin; at < end; {
		c := p.src[at]
		switch {
		case c == '\\' && p.continues(at):
			flush(at)
			at = min(p.afterBreak(at+1), end)
			literal = at
			continue
		case c == '\\' && (!quoted || at+1 < end && strings.IndexByte("$`\"\\", p.src[at+1]) >= 0):
			flush(at)
			next := min(at+2, end)
			out = p.literal(out, at+1, next, true)
			at, literal = next, next
			continue
		case c != '\'' && c != '"' && c != '`' && c != '$' || quoted && c == '\'' || how == doubled && c == '"':
			at++
			continue
		}
		made, next, err := p.expansion(at, end, how, depth)
		switch {
		case err != nil:
			return nil, err
		case next == at: // a lone $
			at++
			continue
		}
		flush(at)
		out = append(out, made...)
		at, literal = next, next
	}
	flush(end)
	return out, nil
}

// literal adds the text between two offsets, divided where its bytes are not consecutive in the script.
func (p *parser) literal(out []part, begin, end int, quoted bool) []part {
	for begin < end {
		to := begin + 1
		if p.places == nil {
			to = end
		}
		for to < end && p.place(to) == p.place(to-1)+1 && p.place(to-1) >= 0 {
			to++
		}
		out = append(out, part{kind: literalPart, text: p.src[begin:to], at: p.place(begin), quoted: quoted})
		begin = to
	}
	return out
}

// inner returns the text between two offsets as a part, with the positions of its bytes.
func (p *parser) inner(kind partKind, begin, end int, quoted bool) part {
	made := part{kind: kind, text: p.src[begin:end], at: p.place(begin), quoted: quoted}
	if p.places != nil {
		made.places = p.places[begin:end]
	}
	return made
}
