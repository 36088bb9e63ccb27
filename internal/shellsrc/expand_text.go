// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// length expands ${#x} and ${#x[@]}.
func (r *runner) length(v expanded) expanded {
	if v.several {
		for _, w := range v.words {
			if w.Many() {
				return expanded{pieces: unknown(w.Why()), from: v.from}
			}
		}
		return expanded{pieces: computed(strconv.Itoa(len(v.words))), from: v.from}
	}
	text, known := textOf(v.pieces)
	if !known {
		return v.opaque()
	}
	return expanded{pieces: computed(strconv.Itoa(utf8.RuneCountInString(text))), from: v.from}
}

// eachChanged applies an operator to each word of ${x[@]…}.
func (r *runner) eachChanged(p part, v expanded) expanded {
	out := expanded{several: true, from: v.from}
	for _, w := range v.words {
		text, _ := w.Text()
		out.words = append(out.words, Word{Pieces: r.changed(p, text, w.Pieces), Start: -1, End: -1})
	}
	return out
}

// changed applies an operator of ${x…} to a known text.
func (r *runner) changed(p part, text string, pieces []Piece) []Piece {
	arg, known := textOf(r.joined(p.arg))
	if !known {
		return unknown(whyOf(r.joined(p.arg)))
	}
	if len(text) > 1024 || len(arg) > 256 || !r.spend(len(text)/16) {
		return unknown("the script is too complex to follow")
	}
	switch p.op {
	case "#", "##", "%", "%%":
		start, end := trimmed(text, arg, p.op)
		if len(pieces) == 1 && pieces[0].At >= 0 {
			return []Piece{{Text: text[start:end], At: pieces[0].At + start}}
		}
		return computed(text[start:end])
	case "/", "//", "/#", "/%":
		return replaced(p, text, arg)
	case "^^":
		return computed(strings.ToUpper(text))
	case ",,":
		return computed(strings.ToLower(text))
	case "^", ",":
		_, size := utf8.DecodeRuneInString(text)
		if p.op == "^" {
			return computed(strings.ToUpper(text[:size]) + text[size:])
		}
		return computed(strings.ToLower(text[:size]) + text[size:])
	case ":":
		return r.slice(p, text, arg)
	}
	return unknown(shortened(p.raw) + " is not understood")
}

// trimmed returns the range of a text that remains after removing a prefix or suffix that matches a pattern: the
// shortest, or for ## and %% the longest.
func trimmed(text, pattern, op string) (start, end int) {
	best := -1
	for i := 0; i <= len(text); i++ {
		side := text[:i]
		if op[0] == '%' {
			side = text[len(text)-i:]
		}
		if matchesGlob(pattern, side) {
			best = i
			if len(op) == 1 {
				break
			}
		}
	}
	switch {
	case best < 0:
		return 0, len(text)
	case op[0] == '%':
		return 0, len(text) - best
	}
	return best, len(text)
}

// replaced expands ${x/old/new}. Only plain text is replaced, not patterns.
func replaced(p part, text, arg string) []Piece {
	old, now, _ := strings.Cut(arg, "/")
	if strings.ContainsAny(old, `*?[\`) || old == "" || strings.Contains(now, "/") && strings.Contains(p.raw, `\/`) {
		return unknown(shortened(p.raw) + " is not understood")
	}
	switch p.op {
	case "//":
		return computed(strings.ReplaceAll(text, old, now))
	case "/":
		return computed(strings.Replace(text, old, now, 1))
	case "/#":
		if rest, ok := strings.CutPrefix(text, old); ok {
			return computed(now + rest)
		}
	case "/%":
		if rest, ok := strings.CutSuffix(text, old); ok {
			return computed(rest + now)
		}
	}
	return computed(text)
}

// slice expands ${x:from:size}.
func (r *runner) slice(p part, text, arg string) []Piece {
	first, rest, sized := strings.Cut(arg, ":")
	from, why := r.number(first)
	size, other := int64(len(text)), ""
	if sized {
		size, other = r.number(rest)
	}
	if why != "" || other != "" || strings.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 || size < 0 {
		return unknown(shortened(p.raw) + " is not understood")
	}
	if from < 0 {
		from += int64(len(text))
	}
	if from < 0 || from > int64(len(text)) {
		return computed("")
	}
	return computed(text[from:min(from+size, int64(len(text)))])
}

// matchesGlob reports whether a shell pattern matches a whole text.
func matchesGlob(pattern, text string) bool {
	star, mark := -1, 0
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, t
			p++
			continue
		}
		if size, ok := matchesOne(pattern[p:], text[t]); ok {
			p += size
			t++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, t = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchesOne matches one byte, and returns the length of the pattern that it used.
func matchesOne(pattern string, c byte) (size int, ok bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == c
	case pattern[0] == '[':
		if end := strings.IndexByte(pattern[1:], ']'); end > 0 {
			return end + 2, inSet(pattern[1:end+1], c)
		}
	}
	return 1, pattern[0] == c
}

// inSet reports whether a byte is in a pattern's set, such as a-z in [a-z].
func inSet(set string, c byte) bool {
	negated := set[0] == '!' || set[0] == '^'
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		found = found || set[i] == c
	}
	return found != negated
}
