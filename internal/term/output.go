// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"math/rand/v2"
	"unicode/utf8"
)

// Output writes text for people. Names, values and notes come from untrusted files, and a terminal obeys control
// characters in them, so these are shown as \u001b and so on. The only escape sequences that pass are those of Paint,
// which marks them with a random character that is chosen for each Output.
//
// JSON also writes \u001b, so a JSON line stays valid.
type Output struct {
	to     io.Writer
	screen Screen
	rest   []byte // the first bytes of an incomplete character
}

// NewOutput returns an Output to a terminal, a pipe or a file.
func NewOutput(to io.Writer, getenv func(string) string) *Output {
	s := Detect(to, getenv)
	if s.Color {
		s.mark = firstPrivate + rune(rand.IntN(privateCount))
	}
	return &Output{to: to, screen: s}
}

// The private-use plane, whose characters have no meaning of their own.
const (
	firstPrivate = 0xF0000
	privateCount = 0xFFFE
)

// Screen returns what the output can show.
func (o *Output) Screen() Screen { return o.screen }

// Unwrap returns the terminal, pipe or file itself, for data that must be written unchanged.
func (o *Output) Unwrap() io.Writer { return o.to }

// Write writes text, with control characters made visible.
func (o *Output) Write(p []byte) (int, error) {
	text := append(o.rest, p...)
	o.rest = nil
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			o.rest = append([]byte(nil), text...)
			break
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == o.screen.mark && r != 0:
			out = append(out, '\x1b')
		case r == utf8.RuneError && n == 1 && text[0] < 0xa0:
			out = fmt.Appendf(out, `\x%02x`, text[0]) // a terminal with a one-byte encoding treats this byte as a C1 control
		case controls(r) && !(r == '\r' && len(text) > 1 && text[1] == '\n'):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	if _, err := o.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// controls reports whether a terminal acts on a character instead of showing it, or reorders the following text.
func controls(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
