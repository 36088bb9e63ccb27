// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"unicode"
	"unicode/utf8"
)

// The expressions of GPT-2, Llama 3 and Qwen 2 are matched by hand, which is an order of magnitude faster.
// A test compares them with the alternatives matched one by one.
const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

var wellKnown = map[string]finder{
	gpt2Pattern:   gpt2,
	llama3Pattern: func(text string, at int) int { return llama3(text, at, 3) },
	qwen2Pattern:  func(text string, at int) int { return llama3(text, at, 1) },
}

func gpt2(text string, at int) int {
	if end := contraction(text, at, false); end > at {
		return end
	}
	from := at
	if text[at] == ' ' {
		from++
	}
	if end := run(text, from, class(text, from)); class(text, from) != space && end > from {
		return end
	}
	if end := trailingSpace(text, at); end > at {
		return end
	}
	return run(text, at, space)
}

func llama3(text string, at, digits int) int {
	if end := contraction(text, at, true); end > at {
		return end
	}
	r, n := utf8.DecodeRuneInString(text[at:])
	from := at
	if kind := kindOfRune(r); kind != letter && kind != number && r != '\r' && r != '\n' {
		from += n
	}
	if end := run(text, from, letter); end > from {
		return end
	}
	if class(text, at) == number {
		return atMost(text, at, digits)
	}
	from = at
	if r == ' ' {
		from++
	}
	if end := run(text, from, other); end > from {
		for end < len(text) && (text[end] == '\r' || text[end] == '\n') {
			end++
		}
		return end
	}
	if end := lastLine(text, at); end > at {
		return end
	}
	if end := trailingSpace(text, at); end > at {
		return end
	}
	return run(text, at, space)
}

// runeKind is a kind of character that the expressions distinguish.
type runeKind int

const (
	none runeKind = iota
	letter
	number
	space
	other
)

func kindOfRune(r rune) runeKind {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// class returns the kind of the character at text[at:], or none at the end.
func class(text string, at int) runeKind {
	if at >= len(text) {
		return none
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return kindOfRune(r)
}

// run returns the end of the characters of one kind that begin at text[at:].
func run(text string, at int, kind runeKind) int {
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if kindOfRune(r) != kind {
			break
		}
		at += n
	}
	return at
}

// atMost returns the end of the digits at text[at:], counting at most "most" of them.
func atMost(text string, at, most int) int {
	for ; most > 0 && class(text, at) == number; most-- {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return at
}

// lastLine implements \s*[\r\n]+: spaces up to the last line end among them.
func lastLine(text string, at int) (end int) {
	for i := at; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += n
		if r == '\r' || r == '\n' {
			end = i
		}
	}
	return end
}

// contraction matches 's, 't, 're, 've, 'm, 'll or 'd, also in upper case if fold is set; a long s then counts as an
// s.
func contraction(text string, at int, fold bool) int {
	if text[at] != '\'' {
		return -1
	}
	rest := text[at+1:]
	for _, end := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if len(rest) >= len(end) && (rest[:len(end)] == end || fold && equalFold(rest[:len(end)], end)) {
			return at + 1 + len(end)
		}
	}
	if fold && len(rest) >= len("ſ") && rest[:len("ſ")] == "ſ" {
		return at + 1 + len("ſ")
	}
	return -1
}

// equalFold reports whether a begins with b, ignoring case. b must be lower-case ASCII.
func equalFold(a, b string) bool {
	for i := range len(b) {
		if a[i]|0x20 != b[i] {
			return false
		}
	}
	return true
}
