// SPDX-License-Identifier: Apache-2.0

// Package pattern provides regular expressions that are compiled only when they are used.
//
// Compiling an expression takes as long as reading a hundred lines of a config, and most runs of the program use no
// expression at all. Searching a file with an expression takes a microsecond for every twenty bytes, a hundred
// times as long as searching for a word, so an expression for whole files lists the words that every match begins
// with.
package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used.
type Pattern struct {
	compiled func() *regexp.Regexp
	words    []string
	code     bool // a match begins at the start of its line, and the word is not in a comment
}

// outsideComments is the prefix of expressions that ignore comments.
const outsideComments = `(?m)^[^#\n]*`

// New returns the pattern for a regular expression. If words are given, each match must have one of them on its first
// line, or on its second after an empty one; a text without any of them is not searched.
func New(expression string, words ...string) *Pattern {
	return &Pattern{
		compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) }),
		words:    words,
		code:     strings.HasPrefix(expression, outsideComments),
	}
}

// Regexp returns the expression itself.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }

// In reports whether a text has a match.
func (p *Pattern) In(text string) bool {
	from := p.begin(text)
	return from >= 0 && p.compiled().MatchString(text[from:])
}

// Find returns the first match in a text and its groups, or nil.
func (p *Pattern) Find(text string) []string {
	from := p.begin(text)
	if from < 0 {
		return nil
	}
	return p.compiled().FindStringSubmatch(text[from:])
}

// Index returns the positions of the first match and its groups, as
// [regexp.Regexp.FindStringSubmatchIndex] does, or nil.
func (p *Pattern) Index(text string) []int {
	from := p.begin(text)
	if from < 0 {
		return nil
	}
	at := p.compiled().FindStringSubmatchIndex(text[from:])
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	return at
}

// begin returns where to start searching: at the line with the first word. It is -1 if there can be no match, as for
// a nil pattern.
func (p *Pattern) begin(text string) int {
	if p == nil {
		return -1
	}
	if len(p.words) == 0 {
		return 0
	}
	first := -1
	for _, w := range p.words {
		if at := p.line(text, w); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// line returns the start of the first line that contains a word, ignoring comments if code is set; -1 if there is
// none.
func (p *Pattern) line(text, word string) int {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return -1
		}
		at += from
		line := strings.LastIndexByte(text[:at], '\n') + 1
		if !p.code || strings.IndexByte(text[line:at], '#') < 0 {
			return line
		}
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			return -1
		}
		from = at + end
	}
}
