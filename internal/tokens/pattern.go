// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a string or an Oniguruma regular expression. The expressions that tokenizers use are lists of
// alternatives. The first alternative that matches at a position wins, so each can be matched separately, and the
// only lookahead among them, \s+(?!\S), by hand.
type pattern struct {
	String *string
	Regex  *string
}

// finder returns the end of the match at text[at:], or -1 if there is none.
type finder func(text string, at int) int

// UnmarshalJSON reads {"String": …}, {"Regex": …} or, as in a few files, a string.
func (p *pattern) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		p.String = &text
		return nil
	}
	var v struct{ String, Regex *string }
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	p.String, p.Regex = v.String, v.Regex
	return nil
}

// matcher returns the function that finds the pattern.
func (p pattern) matcher() (finder, error) {
	switch {
	case p.String != nil && *p.String != "":
		return func(text string, at int) int {
			if strings.HasPrefix(text[at:], *p.String) {
				return at + len(*p.String)
			}
			return -1
		}, nil
	case p.Regex != nil:
		return compile(*p.Regex)
	}
	return nil, fmt.Errorf("one of its patterns is neither a string nor a regular expression")
}

// lookahead matches spaces up to the last one before a word.
const lookahead = `\s+(?!\S)`

func compile(expr string) (finder, error) {
	if f := wellKnown[expr]; f != nil {
		return f, nil
	}
	var each []finder
	for _, alternative := range alternatives(expr) {
		if alternative == lookahead {
			each = append(each, trailingSpace)
			continue
		}
		re, err := regexp.Compile("^(?:" + unicodeClasses(alternative) + ")")
		if err != nil {
			return nil, refused("pattern", alternative)
		}
		each = append(each, func(text string, at int) int {
			if m := re.FindStringIndex(text[at:]); m != nil && m[1] > 0 {
				return at + m[1]
			}
			return -1
		})
	}
	return func(text string, at int) int {
		for _, f := range each {
			if end := f(text, at); end > at {
				return end
			}
		}
		return -1
	}, nil
}

// alternatives splits an expression at its outermost bars.
func alternatives(expr string) (out []string) {
	depth, class, from := 0, false, 0
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			out = append(out, expr[from:i])
			from = i + 1
		}
	}
	return append(out, expr[from:])
}

// The meaning of \s, \w and \d in Oniguruma, as Go character classes.
const (
	spaceClass = `\t-\r\x{85}\p{Z}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`
	digitClass = `\p{Nd}`
)

// unicodeClasses expands \s, \w and \d, which in Go match only ASCII.
func unicodeClasses(expr string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		if c != '\\' || i+1 == len(expr) {
			class = c == '[' || class && c != ']'
			b.WriteByte(c)
			continue
		}
		i++
		set := map[byte]string{'s': spaceClass, 'w': wordClass, 'd': digitClass}[expr[i]|0x20]
		upper := expr[i] < 'a'
		switch {
		case set == "":
			b.WriteString(expr[i-1 : i+1])
		case class && upper:
			b.WriteString(`(?!)`) // Go cannot express this class, and (?!) makes it refuse the expression
		case class:
			b.WriteString(set)
		case upper:
			b.WriteString("[^" + set + "]")
		default:
			b.WriteString("[" + set + "]")
		}
	}
	return b.String()
}

// trailingSpace implements \s+(?!\S): spaces to the end of the text, or all but the last before a word.
func trailingSpace(text string, at int) int {
	last, end := at, at
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsSpace(r) {
			if last == at {
				return -1
			}
			return last
		}
		last = end
		end += n
	}
	if end == at {
		return -1
	}
	return end
}

// match is a part of a text that a pattern matched, or one between matches.
type match struct {
	from, to int
	is       bool
}

// matches divides a text into the matches of a pattern and the parts between them.
func matches(text string, find finder) (out []match) {
	from := 0
	for i := 0; i < len(text); {
		end := find(text, i)
		if end <= i {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		if i > from {
			out = append(out, match{from, i, false})
		}
		out = append(out, match{i, end, true})
		i, from = end, end
	}
	if from < len(text) {
		out = append(out, match{from, len(text), false})
	}
	return out
}

// isWord reports whether a character belongs to \w.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) ||
		unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Other_Alphabetic, r) || r == 0x200C || r == 0x200D
}
