// SPDX-License-Identifier: Apache-2.0

package shellsrc

import "strings"

// expansion reads the quoted text or the substitution at an offset and returns the offset after it; next equals at if
// there is neither.
func (p *parser) expansion(at, end int, how quoting, depth int) (out []part, next int, err error) {
	quoted := how != bare
	if p.src[at] == '$' {
		if name := plainParameter(p.src[at+1 : end]); name != "" {
			next = at + 1 + len(name)
			return []part{{kind: paramPart, text: name, at: -1, quoted: quoted, raw: p.src[at:next]}}, next, nil
		}
	}
	next, err = p.piece(at, depth)
	if err != nil || next > end || next < at+2 {
		return nil, at, nil // a lone $, or a bracket that is closed outside this range
	}
	switch text := p.src[at:next]; {
	case text[0] == '\'':
		return p.orEmpty(p.literal(nil, at+1, next-1, true), at), next, nil
	case text[0] == '"':
		out, err = p.parts(at+1, next-1, doubled, depth+1)
		return p.orEmpty(out, at), next, err
	case text[1] == '\'' && quoted:
		return nil, at, nil
	case text[1] == '\'':
		return []part{{kind: literalPart, text: unescaped(text[2 : len(text)-1]), at: -1, quoted: true}}, next, nil
	}
	made, err := p.substitution(at, next, how, depth)
	made.raw = p.src[at:next]
	return []part{made}, next, err
}

// substitution reads $((…)), $(…), `…` or ${…} between two offsets.
func (p *parser) substitution(at, end int, how quoting, depth int) (part, error) {
	switch text := p.src[at:end]; {
	case strings.HasPrefix(text, "$((") && strings.HasSuffix(text, "))") && len(text) > 4:
		return p.inner(arithmeticPart, at+3, end-2, how != bare), nil
	case strings.HasPrefix(text, "$("):
		return p.inner(outputPart, at+2, end-1, how != bare), nil
	case text[0] == '`':
		return p.inner(outputPart, at+1, end-1, how != bare), nil
	}
	return p.braces(at+2, end-1, how, depth)
}

// plainParameter returns the name at the beginning of a text after $, without brackets; "" if there is none.
func plainParameter(text string) string {
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		return text[:min(1, len(text))]
	}
	return text[:parameterEnd(text)]
}

// orEmpty returns parts, or an empty literal if there are none, because "" is a word too.
func (p *parser) orEmpty(parts []part, at int) []part {
	if len(parts) > 0 {
		return parts
	}
	return []part{{kind: literalPart, at: p.place(at), quoted: true}}
}

// operators of ${name…}, longest first.
var operators = []string{":-", ":=", ":+", ":?", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "+", "?", "#", "%", "/", "^", ",", ":", "@"}

// braces reads what is inside ${…}.
func (p *parser) braces(begin, end int, how quoting, depth int) (part, error) {
	made := part{kind: paramPart, quoted: how != bare, at: -1}
	if how == doubled {
		how = inner
	}
	at := begin
	if at < end && (p.src[at] == '#' || p.src[at] == '!') && at+1 < end && parameterEnd(p.src[at+1:end]) > 0 {
		made.op = map[byte]string{'#': "length", '!': "indirect"}[p.src[at]]
		at++
	}
	size := parameterEnd(p.src[at:end])
	made.text = p.src[at : at+size]
	at += size
	if at < end && p.src[at] == '[' {
		closing := strings.IndexByte(p.src[at:end], ']')
		if closing < 0 {
			return made, nil
		}
		index, err := p.parts(at+1, at+closing, how, depth+1)
		if err != nil {
			return made, err
		}
		made.index = &word{parts: index, raw: p.src[at+1 : at+closing]}
		at += closing + 1
	}
	for _, op := range operators {
		if made.op == "" && strings.HasPrefix(p.src[at:end], op) {
			made.op = op
			arg, err := p.parts(at+len(op), end, how, depth+1)
			made.arg = arg
			return made, err
		}
	}
	if at < end || size == 0 {
		made.op = "unknown"
	}
	return made, nil
}

// parameterEnd returns the length of the parameter name at the beginning of a text: x, 1, @.
func parameterEnd(text string) int {
	if n := nameEnd(text); n > 0 {
		return n
	}
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == 0 && text != "" && strings.IndexByte("@*#?$!-", text[0]) >= 0 {
		return 1
	}
	return n
}

// nameEnd returns the length of the variable name at the beginning of a text.
func nameEnd(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// unescaped returns the text of $'…'.
func unescaped(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\'`, "'", `\"`, `"`, `\\`, `\`).Replace(text)
}
