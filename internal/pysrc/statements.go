// SPDX-License-Identifier: Apache-2.0

package pysrc

// statement reads a statement, or a line of simple ones, and adds it to body.
func (p *parser) statement(body []Stmt) []Stmt {
	switch t := p.peek(); t.kind {
	case keyword:
		if s := p.compound(t.text); s != nil {
			return append(body, s)
		}
	case op:
		if t.text == "@" {
			return append(body, p.decorated())
		}
	case name:
		if t.text == "match" {
			if s := p.match(); s != nil {
				return append(body, s)
			}
		}
	case indent:
		p.fail("this line is indented, but no block begins before it")
	}
	return p.simpleLine(body)
}

// compound reads a statement with blocks, or nothing if the keyword does not begin one.
func (p *parser) compound(word string) Stmt {
	switch word {
	case "if":
		return p.ifStmt()
	case "for":
		return p.forStmt(p.pos())
	case "while":
		return p.while()
	case "try":
		return p.tryStmt()
	case "with":
		return p.with(p.pos())
	case "def":
		return p.function(p.pos(), nil)
	case "class":
		return p.class(nil)
	case "async":
		return p.async(nil)
	}
	return nil
}

// async reads the statement after async.
func (p *parser) async(decorators []Expr) Stmt {
	at := p.take().pos()
	switch {
	case p.is("def"):
		return p.function(at, decorators)
	case p.is("for") && decorators == nil:
		return p.forStmt(at)
	case p.is("with") && decorators == nil:
		return p.with(at)
	}
	p.fail("expected 'def', 'for' or 'with' after 'async', found %s", p.peek())
	return &Pass{at}
}

func (p *parser) decorated() Stmt {
	var decorators []Expr
	for p.accept("@") {
		decorators = append(decorators, p.named())
		p.endOfLine()
	}
	switch {
	case p.is("def"):
		return p.function(p.pos(), decorators)
	case p.is("class"):
		return p.class(decorators)
	case p.is("async"):
		return p.async(decorators)
	}
	p.fail("expected a function or a class after a decorator, found %s", p.peek())
	return &Pass{}
}

// block reads ":" and the statements of its block.
func (p *parser) block() []Stmt {
	p.expect(":")
	if p.peek().kind != newline {
		return p.simpleLine(nil)
	}
	line := p.take().line
	if p.peek().kind != indent {
		p.fail("expected an indented block after line %d", line)
		return nil
	}
	p.take()
	if !p.enter() {
		return nil
	}
	defer p.leave()
	var body []Stmt
	for p.peek().kind != dedent && p.peek().kind != eof {
		body = p.statement(body)
	}
	if p.peek().kind == eof {
		p.fail("the file ends within a block") // happens only after a lexer error
		return body
	}
	p.take()
	return body
}

// elseBlock reads an else, if present.
func (p *parser) elseBlock() []Stmt {
	if !p.accept("else") {
		return nil
	}
	return p.block()
}

// ifStmt reads an if and its elifs; each elif becomes the else of the previous one.
func (p *parser) ifStmt() Stmt {
	first := p.ifPart()
	last, links := first, 0
	for p.is("elif") && p.link(&links) {
		next := p.ifPart()
		last.Else = []Stmt{next}
		last = next
	}
	last.Else = p.elseBlock()
	return first
}

func (p *parser) ifPart() *If {
	s := &If{Pos: p.take().pos()}
	s.Test = p.named()
	s.Then = p.block()
	return s
}

func (p *parser) while() Stmt {
	s := &While{Pos: p.take().pos()}
	s.Test = p.named()
	s.Body = p.block()
	s.Else = p.elseBlock()
	return s
}

func (p *parser) forStmt(at Pos) Stmt {
	p.expect("for")
	s := &For{Pos: at}
	s.Target = p.targets()
	p.expect("in")
	s.Iter = p.tuple(p.starred)
	s.Body = p.block()
	s.Else = p.elseBlock()
	return s
}

func (p *parser) with(at Pos) Stmt {
	p.expect("with")
	s := &With{Pos: at}
	inBrackets := p.is("(") && p.try(func() bool {
		p.take()
		s.Items = p.withItems(")")
		return p.accept(")") && p.is(":")
	})
	if !inBrackets {
		s.Items = p.withItems("")
	}
	s.Body = p.block()
	return s
}

// withItems reads a with statement's contexts; a trailing comma is allowed.
func (p *parser) withItems(end string) []WithItem {
	var items []WithItem
	for {
		item := WithItem{X: p.expr()}
		if p.accept("as") {
			item.As = p.target()
		}
		items = append(items, item)
		if !p.accept(",") || end != "" && p.is(end) {
			return items
		}
	}
}

func (p *parser) tryStmt() Stmt {
	s := &Try{Pos: p.take().pos()}
	s.Body = p.block()
	star := p.is("except") && p.ahead(1).is("*")
	for p.is("except") {
		if star != p.ahead(1).is("*") {
			p.fail("one try has both 'except' and 'except*'")
		}
		s.Handlers = append(s.Handlers, p.handler())
	}
	if s.Handlers != nil {
		s.Else = p.elseBlock()
	}
	if p.accept("finally") {
		s.Finally = p.block()
	} else if s.Handlers == nil {
		p.fail("expected 'except' or 'finally' after the try's block, found %s", p.peek())
	}
	return s
}

func (p *parser) handler() Handler {
	p.expect("except")
	star := p.accept("*")
	var h Handler
	if star || !p.is(":") {
		h.Type = p.expr()
		if p.is(",") {
			h.Type = p.exceptions(h.Type)
		}
		if p.accept("as") {
			h.Name = p.name()
		}
	}
	h.Body = p.block()
	return h
}

// exceptions reads the rest of "except A, B:", which Python 3.14 allows without a name.
func (p *parser) exceptions(first Expr) Expr {
	t := &Tuple{Pos: first.At(), Elts: []Expr{first}}
	for p.accept(",") && !p.is(":") {
		t.Elts = append(t.Elts, p.expr())
	}
	if p.is("as") {
		p.fail("several exceptions with a name need parentheses")
	}
	return t
}
