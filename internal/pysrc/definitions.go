// SPDX-License-Identifier: Apache-2.0

package pysrc

// function reads a function; at is the position of its async or def.
func (p *parser) function(at Pos, decorators []Expr) Stmt {
	p.expect("def")
	s := &FunctionDef{Pos: at, Decorators: decorators, Name: p.name()}
	p.typeParams()
	p.expect("(")
	s.Params = p.params(")", true)
	p.expect(")")
	if p.accept("->") {
		p.expr()
	}
	s.Body = p.block()
	return s
}

func (p *parser) class(decorators []Expr) Stmt {
	s := &ClassDef{Pos: p.take().pos(), Decorators: decorators, Name: p.name()}
	p.typeParams()
	if p.is("(") {
		s.Bases = p.arguments()
	}
	s.Body = p.block()
	return s
}

// typeParams skips [T: int = str, *Ts, **P], which is not stored.
func (p *parser) typeParams() {
	if !p.accept("[") {
		return
	}
	for {
		starred := p.accept("*")
		plain := !starred && !p.accept("**")
		p.name()
		if plain && p.accept(":") {
			p.expr()
		}
		if p.accept("=") {
			if starred {
				p.starred()
			} else {
				p.expr()
			}
		}
		if !p.accept(",") || p.is("]") {
			break
		}
	}
	p.expect("]")
}

// params reads the parameters of a function or, without annotations, of a lambda.
func (p *parser) params(end string, annotated bool) []Param {
	var s signature
	for !p.is(end) {
		at := p.pos()
		param := p.param(annotated, s.star)
		if wrong := s.add(param); wrong != "" {
			p.failAt(at, "%s", wrong)
		}
		if !p.accept(",") {
			break
		}
		if s.keywords {
			p.checkLast(end)
		}
	}
	if s.bare {
		p.fail("a name must follow the bare '*'")
	}
	return s.params
}

func (p *parser) checkLast(end string) {
	if !p.is(end) {
		p.fail("nothing may follow '**' parameters")
	}
}

func (p *parser) param(annotated, keywordOnly bool) Param {
	if p.accept("/") {
		return Param{}
	}
	param := Param{KeywordOnly: keywordOnly}
	switch {
	case p.accept("**"):
		param.Stars = 2
	case p.accept("*"):
		param.Stars = 1
		if p.is(",") {
			return param
		}
	}
	if param.Stars > 0 {
		param.KeywordOnly = false
	}
	param.Name = p.name()
	if annotated && p.accept(":") {
		if param.Stars == 1 {
			param.Annotation = p.starred()
		} else {
			param.Annotation = p.expr()
		}
	}
	if p.accept("=") {
		param.Default = p.expr()
		if param.Stars > 0 {
			p.fail("'*' parameters have no default")
		}
	}
	return param
}

// signature tracks the parameters read so far.
type signature struct {
	params   []Param
	slash    bool // / has been seen
	star     bool // * or *args has been seen
	bare     bool // a bare * has been seen, and no name after it
	defaults bool // a positional parameter has a default
	keywords bool // **kwargs has been seen
}

// add adds a parameter, or returns why it is not allowed there.
func (s *signature) add(param Param) string {
	switch {
	case param.Stars == 0 && param.Name == "":
		if s.slash || s.star || len(s.params) == 0 {
			return "'/' is allowed once, after a parameter and before '*'"
		}
		s.slash = true
	case param.Stars == 1:
		if s.star {
			return "'*' is allowed only once"
		}
		s.star, s.bare = true, param.Name == ""
	case param.Stars == 2:
		if s.bare {
			return "a name must follow the bare '*'"
		}
		s.keywords = true
	default:
		if !s.star && s.defaults && param.Default == nil {
			return "a parameter without a default follows one with a default"
		}
		s.defaults = s.defaults || param.Default != nil
		s.bare = false
	}
	s.params = append(s.params, param)
	return ""
}
