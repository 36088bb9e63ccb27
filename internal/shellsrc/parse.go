// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// parser reads statements. It is lenient where a shell would stop: an unclosed block ends with the file, and a
// closing word without an opening one is skipped.
type parser struct {
	src     string
	places  []int // where each byte of src is in the script; nil if src is the script
	at      int
	depth   int
	pending []*heredoc // here-documents that begin on this line
	command int
	raw     []RawWord
	names   map[string]bool // variables that the script assigns
}

// place returns where a byte is in the script, or -1 if the script does not contain it.
func (p *parser) place(at int) int {
	if p.places == nil {
		return at
	}
	if at < 0 || at >= len(p.places) {
		return -1
	}
	return p.places[at]
}

// parse parses a text.
func parse(src string, places []int) (list, []RawWord, error) {
	body, p, err := parsed(src, places)
	if err != nil {
		return nil, nil, err
	}
	return body, p.raw, nil
}

// parsed parses a text and returns its parser, which has the words and names.
func parsed(src string, places []int) (list, *parser, error) {
	p := &parser{src: src, places: places, names: map[string]bool{}}
	if places == nil && strings.HasPrefix(src, "\ufeff") {
		p.at = len("\ufeff")
	}
	var all list
	for {
		body, err := p.list()
		if err != nil {
			return nil, nil, err
		}
		all = append(all, body...)
		if p.at >= len(p.src) {
			return all, p, nil
		}
		p.skipStray()
	}
}

// skipStray skips a word or character that closes nothing.
func (p *parser) skipStray() {
	p.command++
	if w := p.reserved(); w != "" {
		p.at += len(w)
		return
	}
	p.at++
}

// closers end a list of statements.
var closers = []string{"then", "elif", "else", "fi", "do", "done", "esac", "}"}

// list reads statements up to the word that closes the enclosing block, or to the end.
func (p *parser) list() (list, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.failAt(p.at, "statements are nested more than %d deep here, and are not read any deeper", maxDepth)
	}
	defer func() { p.depth-- }()
	var out list
	for {
		p.separators()
		if p.at >= len(p.src) || p.src[p.at] == ')' || strings.HasPrefix(p.src[p.at:], ";;") || slices.Contains(closers, p.reserved()) {
			return out, nil
		}
		s, err := p.andOr()
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, s)
		}
	}
}

// separators skips blanks, comments, line ends, semicolons and ampersands.
func (p *parser) separators() {
	for p.at < len(p.src) {
		p.blanks()
		switch {
		case p.at >= len(p.src):
		case p.src[p.at] == '\n':
			p.newLine()
		case p.src[p.at] == ';' && !strings.HasPrefix(p.src[p.at:], ";;") || p.src[p.at] == '&' || p.src[p.at] == '|':
			p.at++
			p.command++
		default:
			return
		}
	}
}

// blanks skips blanks, continued lines and a comment.
func (p *parser) blanks() {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\\' && p.continues(p.at):
			p.at = p.afterBreak(p.at + 1)
		case c == '#':
			p.at = p.lineEnd(p.at)
		default:
			return
		}
	}
}

// lineEnd returns the offset of the end of the line at an offset.
func (p *parser) lineEnd(at int) int {
	if i := strings.IndexByte(p.src[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(p.src)
}

// newLine skips the end of a line and the here-documents that follow it.
func (p *parser) newLine() {
	p.at++
	p.command++
	for _, h := range p.pending {
		p.readHeredoc(h)
	}
	p.pending = nil
}

// reserved returns the bare word at this position if it may be a keyword; "" otherwise.
func (p *parser) reserved() string {
	rest := p.src[p.at:]
	if strings.HasPrefix(rest, "((") {
		return "(("
	}
	n := 0
	for n < len(rest) && n < 9 && strings.IndexByte(metacharacters, rest[n]) < 0 {
		n++
	}
	switch w := rest[:n]; w {
	case "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done", "case", "esac", "function", "{", "}", "!", "[[", "time":
		return w
	}
	return ""
}

func (p *parser) andOr() (statement, error) {
	left, err := p.pipeline()
	for err == nil {
		p.blanks()
		or := strings.HasPrefix(p.src[p.at:], "||")
		if !or && !strings.HasPrefix(p.src[p.at:], "&&") {
			break
		}
		p.at += 2
		p.command++
		p.lines()
		var right statement
		if right, err = p.pipeline(); right != nil {
			left = andOr{left, or, right}
		}
	}
	return left, err
}

// lines skips blanks, comments and line ends.
func (p *parser) lines() {
	for p.blanks(); p.at < len(p.src) && p.src[p.at] == '\n'; p.blanks() {
		p.newLine()
	}
}

func (p *parser) pipeline() (statement, error) {
	out := pipeline{}
	for p.blanks(); p.reserved() == "!" || p.reserved() == "time"; p.blanks() {
		out.negated = out.negated != (p.reserved() == "!")
		p.at += len(p.reserved())
	}
	for {
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		if s != nil {
			out.stages = append(out.stages, s)
		}
		p.blanks()
		if p.at >= len(p.src) || p.src[p.at] != '|' || strings.HasPrefix(p.src[p.at:], "||") {
			break
		}
		p.at++
		if p.at < len(p.src) && p.src[p.at] == '&' {
			p.at++
		}
		p.command++
		p.lines()
	}
	if len(out.stages) == 1 && !out.negated {
		return out.stages[0], nil
	}
	if len(out.stages) == 0 {
		return nil, nil
	}
	return out, nil
}
