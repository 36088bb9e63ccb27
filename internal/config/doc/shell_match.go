// SPDX-License-Identifier: Apache-2.0

package doc

import "strings"

// Matchers for the words of a script. Every word of every command is checked with these, so they are
// written by hand instead of as regular expressions; a test compares them with the expressions.

// runEnd returns the length of the text's prefix of letters, digits, underscores and characters in others.
func runEnd(text, others string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && !isDigit(c) && !isLetter(c) && strings.IndexByte(others, c) < 0 {
			return i
		}
	}
	return len(text)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// nameEnd returns the length of the name at the beginning of a text, in which the characters in others are
// allowed too; 0 if there is no name.
func nameEnd(text, others string) int {
	if text == "" || text[0] != '_' && !isLetter(text[0]) {
		return 0
	}
	return runEnd(text, others)
}

// flagOf returns the flag in --name or --name=…, or "" if the word is neither; equals is true for the second
// form.
func flagOf(word string) (flag string, equals bool) {
	dashes := 0
	for dashes < min(2, len(word)) && word[dashes] == '-' {
		dashes++
	}
	if dashes == 0 || dashes == len(word) || !isLetter(word[dashes]) {
		return "", false
	}
	end := dashes + runEnd(word[dashes:], ".-")
	return word[:end], strings.HasPrefix(word[end:], "=")
}

// overridden returns the start and end of the key in a.b=…, which may have up to two pluses before it; ok
// is false for other words.
func overridden(word string) (start, end int, ok bool) {
	start = pluses(word)
	size := nameEnd(word[start:], "./@-")
	end = start + size
	return start, end, size > 0 && strings.HasPrefix(word[end:], "=")
}

func pluses(word string) int {
	n := 0
	for n < min(2, len(word)) && word[n] == '+' {
		n++
	}
	return n
}

// isDottedKey reports whether a word is a.b=…, which is not a flag's value.
func isDottedKey(word string) bool {
	rest := word[pluses(word):]
	size := nameEnd(rest, "")
	rest = rest[size:]
	steps := 0
	for strings.HasPrefix(rest, ".") {
		step := runEnd(rest[1:], "")
		if step == 0 {
			return false
		}
		rest = rest[1+step:]
		steps++
	}
	return size > 0 && steps > 0 && strings.HasPrefix(rest, "=")
}

// isLiteral reports whether text needs no quotes in a shell.
func isLiteral(text string) bool { return runEnd(text, "./:+,=@%~^-") == len(text) }

// isNegative reports whether a word is a negative number, which is not a flag.
func isNegative(word string) bool {
	return len(word) > 1 && word[0] == '-' && (isDigit(word[1]) || word[1] == '.')
}
