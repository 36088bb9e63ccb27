// SPDX-License-Identifier: Apache-2.0

package shellsrc

import "strings"

// statement reads one statement with its redirections; nil if there is none.
func (p *parser) statement() (statement, error) {
	p.blanks()
	if p.at >= len(p.src) {
		return nil, nil
	}
	s, err := p.compound()
	if s == nil || err != nil {
		return s, err
	}
	if _, isSimple := s.(simple); isSimple {
		return s, nil
	}
	p.command++
	return s, p.redirections()
}

// redirections skips a compound statement's redirections.
func (p *parser) redirections() error {
	var of simple
	for {
		p.blanks()
		if p.at >= len(p.src) {
			return nil
		}
		if redirected, err := p.redirection(&of); err != nil || !redirected {
			return err
		}
	}
}

func (p *parser) compound() (statement, error) {
	start := p.at
	w := p.reserved()
	switch w {
	case "if":
		p.at += len(w)
		return p.ifStatement(start)
	case "for", "select":
		p.at += len(w)
		return p.forStatement(start)
	case "while", "until":
		p.at += len(w)
		out := loop{until: w == "until", start: p.place(start)}
		var err error
		if out.condition, err = p.list(); err == nil {
			out.body, err = p.block("do", "done")
		}
		return out, err
	case "case":
		p.at += len(w)
		return p.caseStatement(start)
	case "function":
		p.at += len(w)
		p.blanks()
		return p.functionBody()
	case "{":
		body, err := p.block("{", "}")
		return group{body: body}, err
	case "((":
		if s, ok := p.arithmeticCommand(); ok {
			return s, nil
		}
	case "[[":
		return p.conditional()
	}
	if p.src[p.at] == '(' {
		return p.subshell()
	}
	if n := p.functionName(); n > 0 {
		return p.functionBody()
	}
	return p.simple()
}

func (p *parser) subshell() (statement, error) {
	p.at++
	p.command++
	body, err := p.list()
	if p.at < len(p.src) && p.src[p.at] == ')' {
		p.at++
	}
	p.command++
	return group{body: body, subshell: true}, err
}

// block reads the statements between two words.
func (p *parser) block(open, closing string) (list, error) {
	p.separators()
	if p.reserved() == open {
		p.at += len(open)
	}
	p.command++
	body, err := p.list()
	if p.reserved() == closing {
		p.at += len(closing)
	}
	p.command++
	return body, err
}

func (p *parser) ifStatement(start int) (statement, error) {
	out := branches{start: p.place(start)}
	for {
		condition, err := p.list()
		if err != nil {
			return nil, err
		}
		if p.reserved() == "then" {
			p.at += len("then")
		}
		body, err := p.list()
		if err != nil {
			return nil, err
		}
		out.conditions, out.bodies = append(out.conditions, condition), append(out.bodies, body)
		switch p.reserved() {
		case "elif":
			p.at += len("elif")
			continue
		case "else":
			p.at += len("else")
			if out.otherwise, err = p.list(); err != nil {
				return nil, err
			}
		}
		if p.reserved() == "fi" {
			p.at += len("fi")
		}
		return out, nil
	}
}

func (p *parser) forStatement(start int) (statement, error) {
	p.blanks()
	if strings.HasPrefix(p.src[p.at:], "((") {
		header, _ := p.arithmeticCommand()
		body, err := p.block("do", "done")
		return loop{condition: list{header}, body: body, start: p.place(start)}, err
	}
	out := forEach{start: p.place(start), args: true}
	name, err := p.word(metacharacters)
	if err != nil {
		return nil, err
	}
	out.name = name.raw
	p.lines()
	if strings.HasPrefix(p.src[p.at:], "in") && (p.at+2 == len(p.src) || strings.IndexByte(metacharacters, p.src[p.at+2]) >= 0) {
		p.at += 2
		out.args = false
		if out.words, err = p.wordsOfLine(); err != nil {
			return nil, err
		}
	}
	out.body, err = p.block("do", "done")
	return out, err
}

// wordsOfLine reads words up to the end of a line or a semicolon.
func (p *parser) wordsOfLine() ([]word, error) {
	var out []word
	for {
		p.blanks()
		if p.at >= len(p.src) || strings.IndexByte("\n;&|()<>", p.src[p.at]) >= 0 {
			return out, nil
		}
		w, err := p.word(metacharacters)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
}

func (p *parser) caseStatement(start int) (statement, error) {
	p.blanks()
	of, err := p.word(metacharacters)
	if err != nil {
		return nil, err
	}
	out := choice{of: of, start: p.place(start)}
	p.lines()
	if strings.HasPrefix(p.src[p.at:], "in") {
		p.at += 2
	}
	for {
		p.separators()
		if p.at >= len(p.src) || p.reserved() == "esac" {
			p.at += len(p.reserved())
			return out, nil
		}
		item, err := p.caseItem()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
}

// caseItem reads one pattern | pattern) statements ;;
func (p *parser) caseItem() (out choiceItem, err error) {
	begin := p.at
	if p.src[p.at] == '(' {
		p.at++
	}
	for p.at < len(p.src) && p.src[p.at] != ')' {
		p.blanks()
		w, err := p.word(metacharacters)
		if err != nil {
			return out, err
		}
		if w.raw != "" {
			out.patterns = append(out.patterns, w)
		}
		p.blanks()
		if p.at < len(p.src) && p.src[p.at] != ')' && p.src[p.at] != '|' && w.raw == "" || p.at < len(p.src) && p.src[p.at] == '|' {
			p.at++
		}
	}
	p.at = min(p.at+1, len(p.src))
	p.command++
	if out.body, err = p.list(); err != nil {
		return out, err
	}
	for p.at < len(p.src) && (p.src[p.at] == ';' || p.src[p.at] == '&') {
		p.at++
	}
	if p.at == begin {
		p.at++
	}
	return out, nil
}

// functionName returns the length of the name in name(), or 0 if this is not a function.
func (p *parser) functionName() int {
	n := 0
	rest := p.src[p.at:]
	for n < len(rest) && strings.IndexByte(metacharacters+`'"$=\`, rest[n]) < 0 {
		n++
	}
	after := strings.TrimLeft(rest[n:min(len(rest), n+8)], " \t")
	if n == 0 || !strings.HasPrefix(after, "(") || !strings.HasPrefix(strings.TrimLeft(after[1:], " \t"), ")") {
		return 0
	}
	return n
}

// functionBody reads name() { … }, starting at the name.
func (p *parser) functionBody() (statement, error) {
	name, err := p.word(metacharacters)
	if err != nil {
		return nil, err
	}
	p.blanks()
	for p.at < len(p.src) && (p.src[p.at] == '(' || p.src[p.at] == ')' || p.src[p.at] == ' ') {
		p.at++
	}
	p.lines()
	p.command++
	if p.depth++; p.depth > maxDepth {
		return nil, p.failAt(p.at, "functions are nested more than %d deep here, and are not read any deeper", maxDepth)
	}
	body, err := p.statement()
	p.depth--
	return function{name: name.raw, body: body}, err
}

// arithmeticCommand reads ((…)); ok is false if the parentheses are nested subshells.
func (p *parser) arithmeticCommand() (s arithmetic, ok bool) {
	end, err := p.until(p.at, ')', 0)
	if err != nil || end-2 < p.at+2 || p.src[end-2] != ')' {
		return arithmetic{}, false
	}
	s = arithmetic{text: p.inner(arithmeticPart, p.at+2, end-2, true), start: p.place(p.at)}
	p.at = end
	return s, true
}

// conditional reads [[ … ]] as the words of a command.
func (p *parser) conditional() (statement, error) {
	out := simple{start: p.place(p.at)}
	for pattern := false; p.at < len(p.src); {
		p.lines()
		if p.at >= len(p.src) {
			break
		}
		rest := p.src[p.at:]
		ends := metacharacters
		if pattern {
			ends = " \t\r\n"
		}
		var w word
		var err error
		switch {
		case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||"):
			w, err = p.wordOf(p.at, p.at+2)
			p.at += 2
		case !pattern && strings.IndexByte("()<>;&|", rest[0]) >= 0:
			w, err = p.wordOf(p.at, p.at+1)
			p.at++
		default:
			w, err = p.word(ends)
		}
		if err != nil {
			return nil, err
		}
		out.words = append(out.words, w)
		pattern = w.raw == "=~"
		if w.raw == "]]" {
			break
		}
	}
	return out, nil
}
