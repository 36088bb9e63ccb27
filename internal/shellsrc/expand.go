// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// words expands a command's words as a shell does: braces, then parameters and substitutions, then splitting at
// blanks. File names are not expanded.
func (r *runner) words(of []word) []Word {
	out := make([]Word, 0, len(of))
	for _, w := range of {
		for _, x := range r.braced(w) {
			out = append(out, r.expand(x)...)
		}
	}
	return out
}

// builder assembles the expanded words of one written word.
type builder struct {
	out     []Word
	current []Piece
	started bool // a word has begun, even if it is empty
	from    []int
}

func (b *builder) add(pieces ...Piece) {
	b.current = append(b.current, pieces...)
	b.started = true
}

// end ends a word.
func (b *builder) end() {
	if b.started {
		b.out = append(b.out, Word{Pieces: b.current, Start: -1, End: -1, Definition: -1})
	}
	b.current, b.started = nil, false
}

// split adds text that is split at blanks.
func (b *builder) split(p Piece) {
	if p.Why != "" {
		p.many = true
		b.add(p)
		return
	}
	for at := 0; at < len(p.Text); {
		blank := strings.IndexAny(p.Text[at:], " \t\n")
		if blank == 0 {
			b.end()
			at++
			continue
		}
		end := len(p.Text)
		if blank > 0 {
			end = at + blank
		}
		part := Piece{Text: p.Text[at:end], At: -1}
		if p.At >= 0 {
			part.At = p.At + at
		}
		b.add(part)
		at = end
	}
}

// Fields splits the text of a word at blanks, as a shell does if the word is not quoted.
func (w Word) Fields() []Word {
	b := &builder{}
	for _, p := range w.Pieces {
		b.split(p)
	}
	b.end()
	for i := range b.out {
		b.out[i].Raw, b.out[i].From = w.Raw, w.From
		b.out[i].locate()
	}
	return b.out
}

// expand expands one word.
func (r *runner) expand(w word) []Word {
	if len(w.parts) == 1 && w.parts[0].kind == paramPart {
		if v := r.value(w.parts[0]); v.several && (w.parts[0].quoted || !slices.ContainsFunc(v.words, splits)) {
			return withFrom(v.words, v.from)
		}
	}
	b := &builder{}
	for _, p := range w.parts {
		switch {
		case p.kind == literalPart:
			b.add(Piece{Text: p.text, At: p.at})
		default:
			r.spend(1)
			v := r.value(p)
			b.from = mergedFrom(b.from, v.from)
			v.addTo(b, p.quoted)
		}
	}
	b.end()
	for i := range b.out {
		b.out[i].From = b.from
		b.out[i].Raw = w.raw
		b.out[i].locate()
	}
	if len(b.out) == 1 {
		r.whole(&b.out[0], w)
	}
	return b.out
}

// splits reports whether an unquoted word would become several words, or none.
func splits(w Word) bool {
	text, known := w.Text()
	return !known || text == "" || strings.ContainsAny(text, " \t\n")
}

// withFrom returns words that also depend on the given assignments.
func withFrom(words []Word, from []int) []Word {
	out := slices.Clone(words)
	for i := range out {
		out[i].From = mergedFrom(out[i].From, from)
	}
	return out
}

// whole records where an unsplit word is written.
func (r *runner) whole(out *Word, w word) {
	if len(w.parts) == 1 && w.parts[0].kind == paramPart {
		p := w.parts[0]
		if v := r.variables[p.text]; v != nil && p.index == nil && !v.isList && (p.op == "" || strings.HasPrefix(p.op, ":") && strings.IndexByte("-=", p.op[len(p.op)-1]) >= 0) {
			out.Variable, out.Definition = p.text, v.definition
			out.Start, out.End = w.start, w.end
			return
		}
	}
	if !slices.ContainsFunc(w.parts, func(p part) bool { return p.kind != literalPart }) || out.Start < 0 {
		out.Start, out.End = w.start, w.end
	}
	if len(w.parts) > 0 {
		last := w.parts[len(w.parts)-1]
		if v := r.variables[last.text]; last.kind == paramPart && last.op == "" && last.index == nil && v != nil && !v.isList {
			out.last, out.lastDefinition = last.text, v.definition
		}
	}
}

// locate records where a word's text is written, if it is in one place.
func (w *Word) locate() {
	if len(w.Pieces) == 1 && w.Pieces[0].At >= 0 && w.Pieces[0].Why == "" {
		w.Start, w.End = w.Pieces[0].At, w.Pieces[0].At+len(w.Pieces[0].Text)
	}
}

// one expands a word, such as the value of an assignment, without splitting it.
func (r *runner) one(w word) Word {
	out := Word{Raw: w.raw, Start: w.start, End: w.end, Definition: -1}
	for _, p := range w.parts {
		if p.kind == literalPart {
			out.Pieces = append(out.Pieces, Piece{Text: p.text, At: p.at})
			continue
		}
		r.spend(1)
		v := r.value(p)
		out.From = mergedFrom(out.From, v.from)
		out.Pieces = append(out.Pieces, v.asText()...)
	}
	if len(w.parts) == 1 {
		r.whole(&out, w)
	}
	size := 0
	for _, p := range out.Pieces {
		size += len(p.Text)
	}
	if size > maxText && len(out.From) > 0 {
		out.Pieces = unknown("its text is too long")
	}
	return out
}

// joined expands parts into one text.
func (r *runner) joined(parts []part) []Piece { return r.one(word{parts: parts}).Pieces }

// expanded is the value of a part: one text or several words.
type expanded struct {
	pieces  []Piece
	several bool // $@ or ${x[@]}: the value is words, not pieces
	words   []Word
	from    []int
}

// addTo adds a value to the words being built.
func (v expanded) addTo(b *builder, quoted bool) {
	if !v.several {
		if quoted {
			b.add(v.pieces...)
			return
		}
		for _, p := range v.pieces {
			b.split(p)
		}
		return
	}
	for i, w := range v.words {
		if i > 0 {
			b.end()
		}
		for _, p := range w.Pieces {
			if quoted {
				b.add(p)
			} else {
				b.split(p)
			}
		}
	}
}

// asText returns a value as one text, with its words joined by blanks.
func (v expanded) asText() []Piece {
	if !v.several {
		return v.pieces
	}
	var out []Piece
	for i, w := range v.words {
		if i > 0 && !w.mayVanish() && !v.words[i-1].mayVanish() { // an unknown word may expand to none, and then no blank is added
			out = append(out, Piece{Text: " ", At: -1})
		}
		out = append(out, w.Pieces...)
	}
	return oneText(out)
}

// oneText returns the pieces of a text that stays one word, whatever its unknown parts are.
func oneText(pieces []Piece) []Piece {
	out := slices.Clone(pieces)
	for i := range out {
		out[i].many = false
	}
	return out
}
