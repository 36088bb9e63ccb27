// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// declaring are commands whose arguments may be assignments.
var declaring = []string{"export", "local", "declare", "readonly", "typeset"}

// simple reads a command: assignments, words and redirections.
func (p *parser) simple() (statement, error) {
	out := simple{start: p.place(p.at)}
	for {
		p.blanks()
		if p.at >= len(p.src) {
			break
		}
		if redirected, err := p.redirection(&out); err != nil {
			return nil, err
		} else if redirected {
			continue
		}
		if strings.IndexByte("\n;&|()", p.src[p.at]) >= 0 {
			break
		}
		begin := p.at
		w, err := p.word(metacharacters)
		if err != nil {
			return nil, err
		}
		if p.at == begin { // a character that cannot begin a word
			p.at++
			continue
		}
		if err := p.addWord(&out, w, begin); err != nil {
			return nil, err
		}
	}
	if len(out.words) == 0 && len(out.assignments) == 0 {
		if p.at < len(p.src) && p.src[p.at] == '(' {
			p.at++
		}
		return nil, nil
	}
	return out, nil
}

// addWord adds a word to a command, as an assignment if it is one.
func (p *parser) addWord(out *simple, w word, begin int) error {
	declares := len(out.words) > 0 && slices.Contains(declaring, out.words[0].raw)
	if len(out.words) == 0 || declares {
		if a, size := p.assigned(w, begin); size > 0 {
			if err := p.assignment(&a, w, begin, size); err != nil {
				return err
			}
			if !declares {
				out.assignments = append(out.assignments, a)
				return nil
			}
			if out.declared == nil {
				out.declared = map[int]assignment{}
			}
			out.declared[len(out.words)] = a
			out.words = append(out.words, w)
			return nil
		}
	}
	p.keep(w)
	out.words = append(out.words, w)
	return nil
}

// keep stores a word as written.
func (p *parser) keep(w word) {
	if p.places == nil && w.start >= 0 {
		p.raw = append(p.raw, RawWord{w.start, w.end, p.command})
	}
}

// assigned returns the beginning of name=, name+= or name[index]=, and its length; 0 if a word is not an assignment.
func (p *parser) assigned(w word, begin int) (a assignment, size int) {
	a.start = p.place(begin)
	n := nameEnd(w.raw)
	if n == 0 {
		return a, 0
	}
	a.name = w.raw[:n]
	rest := w.raw[n:]
	if strings.HasPrefix(rest, "[") {
		closing := strings.IndexByte(rest, ']')
		if closing < 0 {
			return a, 0
		}
		index, err := p.wordOf(begin+n+1, begin+n+closing)
		if err != nil {
			return a, 0
		}
		a.index = &index
		n += closing + 1
		rest = w.raw[n:]
	}
	if strings.HasPrefix(rest, "+=") {
		a.adds = true
		n++
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, "=") {
		return a, 0
	}
	return a, n + 1
}

// assignment reads the value of an assignment, which begins size bytes after begin.
func (p *parser) assignment(a *assignment, w word, begin, size int) (err error) {
	if p.names != nil {
		p.names[a.name] = true
	}
	if len(w.raw) == size && p.at < len(p.src) && p.src[p.at] == '(' && p.src[p.at-1] == '=' {
		a.isList = true
		return p.array(a, begin)
	}
	p.keep(w)
	a.value, err = p.wordOf(begin+size, begin+len(w.raw))
	if a.value.raw == "" && p.places == nil {
		a.value.start, a.value.end = begin+size, begin+size
	}
	return err
}

// array reads the words of name=( … ). They are stored as the words of a separate command with an empty name.
func (p *parser) array(a *assignment, begin int) error {
	p.command++
	if p.places == nil {
		p.raw = append(p.raw, RawWord{begin, begin, p.command})
	}
	for p.at++; p.at < len(p.src); {
		command := p.command
		p.separators()
		p.command = command
		if p.at >= len(p.src) {
			break
		}
		if p.src[p.at] == ')' {
			p.at++
			break
		}
		start := p.at
		w, err := p.word(metacharacters)
		if err != nil {
			return err
		}
		if p.at == start {
			p.at++
			continue
		}
		p.keep(w)
		a.array = append(a.array, w)
	}
	p.command++
	return nil
}

// redirection reads a redirection; ok is false if there is none.
func (p *parser) redirection(out *simple) (ok bool, err error) {
	at := p.at
	for at < len(p.src) && p.src[at] >= '0' && p.src[at] <= '9' {
		at++
	}
	rest := p.src[at:]
	switch {
	case at == p.at && strings.HasPrefix(rest, "&>"):
		at++
	case rest == "" || rest[0] != '<' && rest[0] != '>':
		return false, nil
	case strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">("):
		return true, p.process(out, at)
	}
	op := at
	for at < len(p.src) && at-op < 3 && strings.IndexByte("<>&|-", p.src[at]) >= 0 {
		at++
	}
	p.at = at
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\t') {
		p.at++
	}
	name := strings.TrimRight(p.src[op:at], "&|")
	w, err := p.word(metacharacters)
	if err != nil {
		return true, err
	}
	switch {
	case name == "<<" || name == "<<-":
		h := &heredoc{delimiter: strings.Trim(w.raw, `'"\`), literal: strings.ContainsAny(w.raw, `'"\`), strip: name == "<<-"}
		out.heredocs = append(out.heredocs, h)
		p.pending = append(p.pending, h)
	case name == ">" || name == ">>":
		out.target = &w
	}
	return true, nil
}

// process reads <(…), which becomes an unknown word.
func (p *parser) process(out *simple, open int) error {
	end, err := p.until(open+1, ')', 0)
	if err != nil {
		return err
	}
	made := p.inner(processPart, open+2, end-1, true)
	made.raw = p.src[open:end]
	w := word{parts: []part{made}, raw: made.raw, start: p.place(open), end: p.place(end-1) + 1}
	p.at = end
	out.words = append(out.words, w)
	p.keep(w)
	return nil
}

// readHeredoc reads the text of a here-document and skips it.
func (p *parser) readHeredoc(h *heredoc) {
	begin := p.at
	for p.at < len(p.src) {
		lineEnd := p.lineEnd(p.at)
		line := strings.TrimSuffix(p.src[p.at:lineEnd], "\r")
		if h.strip {
			line = strings.TrimLeft(line, "\t")
		}
		last := p.at
		p.at = min(lineEnd+1, len(p.src))
		if line == h.delimiter {
			p.heredocText(h, begin, last)
			return
		}
	}
	p.heredocText(h, begin, p.at)
}

// heredocText stores a here-document's text. If the text has a syntax error, it is stored unparsed.
func (p *parser) heredocText(h *heredoc, begin, end int) {
	h.text = word{raw: p.src[begin:end], start: p.place(begin), end: p.place(begin) + end - begin}
	parts, err := p.parts(begin, end, doubled, 0)
	if h.literal || err != nil {
		parts = p.literal(nil, begin, end, true)
	}
	h.text.parts = parts
}
