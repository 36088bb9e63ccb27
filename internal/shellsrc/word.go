// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// Piece is a part of an expanded word.
type Piece struct {
	Text string // "" if it is unknown
	At   int    // the text's offset in the script; -1 if the shell computes it
	Why  string // why the text is unknown; "" if it is known

	many     bool // unknown, and may be any number of words
	absent   bool // unknown because the script's caller may set it
	argument bool // absent is set, and the text is a script argument
}

// Word is an expanded word of a command.
type Word struct {
	Pieces []Piece // its parts, in order
	Raw    string  // as written
	// Start and End are the offsets of the word as written, or of its text within a longer one; -1 if it is not
	// written in one place.
	Start, End int
	// Variable is the name if the word is only a variable's value, and Definition is the offset of the assignment
	// that set it.
	Variable       string
	Definition     int
	last           string // the variable that the word ends in
	lastDefinition int
	// From lists the assignments that the word's text depends on.
	From []int
}

// Text returns the text of a word; ok is false if it is unknown.
func (w Word) Text() (text string, ok bool) { return textOf(w.Pieces) }

// Why returns why a word's text is unknown, "" if it is known.
func (w Word) Why() string { return whyOf(w.Pieces) }

// Many reports whether a word may be any number of words.
func (w Word) Many() bool {
	for _, p := range w.Pieces {
		if p.many {
			return true
		}
	}
	return false
}

// mayVanish reports whether a word may be no word at all. One with a known part is at least that part.
func (w Word) mayVanish() bool {
	return w.Many() && !slices.ContainsFunc(w.Pieces, func(p Piece) bool { return p.Why == "" && p.Text != "" })
}

// Known returns the text that a word begins with, up to the first unknown part.
func (w Word) Known() string {
	var b strings.Builder
	for _, p := range w.Pieces {
		if p.Why != "" {
			break
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

// Ends returns the text after the last unknown part; "" if the word ends in one.
func (w Word) Ends() string {
	last := len(w.Pieces) - 1
	for last >= 0 && w.Pieces[last].Why == "" {
		last--
	}
	text, _ := textOf(w.Pieces[last+1:])
	return text
}

// Cut returns the word without its first n bytes, which must be known, such as the value in --flag=value.
func (w Word) Cut(n int) Word {
	out := w
	out.Pieces, out.Variable, out.Start, out.End = nil, "", -1, -1
	if w.Start >= 0 && w.End-w.Start == len(w.Raw) && strings.HasPrefix(w.Raw, w.Known()[:n]) {
		out.Raw, out.Start, out.End = w.Raw[n:], w.Start+n, w.End
		if bare := strings.Trim(out.Raw, `"`); w.last != "" && (bare == "$"+w.last || bare == "${"+w.last+"}") {
			out.Variable, out.Definition = w.last, w.lastDefinition
		}
	}
	for _, p := range w.Pieces {
		skip := min(n, len(p.Text))
		if n -= skip; skip == len(p.Text) && p.Why == "" && skip > 0 {
			continue
		}
		p.Text = p.Text[skip:]
		if p.At >= 0 {
			p.At += skip
		}
		out.Pieces = append(out.Pieces, p)
	}
	return out
}

func textOf(pieces []Piece) (string, bool) {
	if len(pieces) == 1 && pieces[0].Why == "" {
		return pieces[0].Text, true
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.Why != "" {
			return "", false
		}
		b.WriteString(p.Text)
	}
	return b.String(), true
}

func whyOf(pieces []Piece) string {
	for _, p := range pieces {
		if p.Why != "" {
			return p.Why
		}
	}
	return ""
}

// unknown returns an unknown text.
func unknown(why string) []Piece { return []Piece{{At: -1, Why: why}} }

// computed returns a text that does not occur in the script.
func computed(text string) []Piece { return []Piece{{Text: text, At: -1}} }

// same reports whether two texts are equal: both known and the same, or unknown in the same places for the same
// reasons.
func same(a, b []Piece) bool {
	x, known := textOf(a)
	y, also := textOf(b)
	if known || also {
		return known == also && x == y
	}
	return slices.EqualFunc(a, b, func(p, q Piece) bool { return p.Text == q.Text && p.Why == q.Why })
}
