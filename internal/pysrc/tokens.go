// SPDX-License-Identifier: Apache-2.0

package pysrc

// kind is the kind of a token. Kinds from keyword on are recognized by their text.
type kind uint8

const (
	eof kind = iota
	newline
	indent
	dedent
	name
	number
	str
	fStart // the prefix and opening quote of an f-string
	fText  // text between the fields of an f-string, or in a format spec
	fEnd   // the closing quote of an f-string
	keyword
	op
)

// token is a piece of source. Its text is a slice of the source.
type token struct {
	text      string
	off       int32 // offset of its first byte
	line, col int32
	kind      kind
}

func (t token) pos() Pos { return Pos{int(t.line), int(t.col)} }

// String returns a token's description in errors.
func (t token) String() string {
	switch t.kind {
	case eof:
		return "the end of the file"
	case newline:
		return "the end of the line"
	case indent:
		return "an indented line"
	case dedent:
		return "the end of the block"
	case str, fStart, fText, fEnd:
		return "a string"
	}
	return "'" + shortened(t.text) + "'"
}

// shortened truncates a text so that an error stays on one line of readable length.
func shortened(text string) string {
	const longest = 40
	if len(text) <= longest {
		return text
	}
	cut := 0
	for i := range text {
		if i > longest {
			break
		}
		cut = i
	}
	return text[:cut] + "…"
}

// isKeyword reports whether a word is reserved. match, case and type are not: they are keywords only at the beginning
// of certain statements.
func isKeyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
		"continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
		"if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
		"try", "while", "with", "yield":
		return true
	}
	return false
}

// operatorLen returns the length of the operator at the beginning of text, or 0.
func operatorLen(text string) int {
	if len(text) >= 3 {
		switch text[:3] {
		case "**=", "//=", ">>=", "<<=", "...":
			return 3
		}
	}
	if len(text) >= 2 {
		switch text[:2] {
		case "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=", "*=", "/=", "%=",
			"&=", "|=", "^=", "@=", ":=":
			return 2
		}
	}
	switch text[0] {
	case '+', '-', '*', '/', '%', '@', '&', '|', '^', '~', '<', '>', ',', ':', '.', ';', '=', '!',
		'(', ')', '[', ']', '{', '}':
		return 1
	}
	return 0
}
