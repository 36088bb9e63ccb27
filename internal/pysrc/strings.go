// SPDX-License-Identifier: Apache-2.0

package pysrc

import "strings"

// strings reads adjacent string literals, which form one string.
func (p *parser) strings() Expr {
	j := joined{at: p.pos()}
	for {
		t := p.peek()
		switch t.kind {
		case str:
			p.at++
			p.plainString(&j, *t)
		case fStart:
			p.fstring(&j)
		default:
			return j.expr()
		}
	}
}

// joined is a string put together from several literals.
type joined struct {
	at        Pos
	text      strings.Builder
	textAt    Pos
	parts     []Expr
	formatted bool
	seen      bool
	isBytes   bool
}

func (j *joined) add(at Pos, text string) {
	if j.text.Len() == 0 {
		j.textAt = at
	}
	j.text.WriteString(text)
}

// flush ends a literal part.
func (j *joined) flush() {
	if j.text.Len() > 0 {
		j.parts = append(j.parts, &Str{j.textAt, j.text.String()})
		j.text.Reset()
	}
}

func (j *joined) expr() Expr {
	if !j.formatted {
		return &Str{j.at, j.text.String()}
	}
	j.flush()
	return &FString{j.at, j.parts}
}

// agrees records whether a literal is bytes, and reports whether it agrees with the previous ones.
func (j *joined) agrees(isBytes bool) bool {
	if j.seen && j.isBytes != isBytes {
		return false
	}
	j.seen, j.isBytes = true, isBytes
	return true
}

func (p *parser) plainString(j *joined, t token) {
	quoteAt := strings.IndexAny(t.text, `"'`)
	prefix := strings.ToLower(t.text[:quoteAt])
	body := t.text[quoteAt:]
	quotes := len(quoteOf(body))
	e := escapes{raw: strings.Contains(prefix, "r"), bytes: strings.Contains(prefix, "b")}
	if !j.agrees(e.bytes) {
		p.failAt(t.pos(), "bytes and text cannot be joined")
		return
	}
	text, wrong := e.resolve(body[quotes : len(body)-quotes])
	if wrong != "" {
		p.failAt(t.pos(), "%s", wrong)
	}
	j.add(t.pos(), text)
}

// fstring reads a formatted string: its texts, and the expressions in its fields.
func (p *parser) fstring(j *joined) {
	open := p.take()
	j.formatted = true
	if !j.agrees(false) {
		p.failAt(open.pos(), "bytes and text cannot be joined")
	}
	e := escapes{raw: strings.ContainsAny(open.text, "rR"), braces: true}
	for {
		switch t := p.peek(); {
		case t.kind == fText:
			p.at++
			text, wrong := e.resolve(t.text)
			if wrong != "" {
				p.failAt(t.pos(), "%s", wrong)
			}
			j.add(t.pos(), text)
		case t.kind == fEnd:
			p.at++
			return
		case t.is("{"):
			p.field(j)
		default:
			p.fail("expected the end of an f-string, found %s", t)
			return
		}
	}
}

// field reads {Value = !r :format}. The fields in the format spec are read but not stored.
func (p *parser) field(j *joined) {
	first := p.at + 1
	open := p.take()
	if p.is("}") {
		p.fail("a field of an f-string is empty")
		return
	}
	value := p.valuesOrYield()
	if p.accept("=") { // f"{x=}" puts the source text before the value
		j.add(open.pos(), p.sourceFrom(first))
	}
	j.flush()
	j.parts = append(j.parts, value)
	if p.accept("!") {
		if c := p.name(); p.err == nil && c != "s" && c != "r" && c != "a" {
			p.failAt(open.pos(), "'!%s' is not a conversion; use '!s', '!r' or '!a'", shortened(c))
		}
	}
	if p.accept(":") {
		p.format()
	}
	p.expect("}")
}

// sourceFrom returns the source from a token to the next one, without comments.
func (p *parser) sourceFrom(first int) string {
	var b strings.Builder
	end := int(p.tokens[first-1].off) + 1
	for _, t := range p.tokens[first:p.at] {
		b.WriteString(withoutComments(p.src[end:t.off]))
		b.WriteString(t.text)
		end = int(t.off) + len(t.text)
	}
	b.WriteString(withoutComments(p.src[end:p.peek().off]))
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\r", "\n")
}

// withoutComments returns the text between two tokens without its comments.
func withoutComments(gap string) string {
	var b strings.Builder
	for {
		before, comment, found := strings.Cut(gap, "#")
		b.WriteString(before)
		end := strings.IndexAny(comment, "\r\n")
		if !found || end < 0 {
			return b.String()
		}
		gap = comment[end:]
	}
}

func (p *parser) format() {
	for {
		switch t := p.peek(); {
		case t.kind == fText:
			p.at++
		case t.is("{"):
			p.field(&joined{})
		default:
			return
		}
	}
}
