// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

// dotted returns a.b.c for a dotted name, and "" for any other expression.
func dotted(e pysrc.Expr) string {
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID
	case *pysrc.Attribute:
		if x := dotted(e.X); x != "" {
			return x + "." + e.Name
		}
	}
	return ""
}

// last returns the part after the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// imported returns the full name of an expression: np.zeros is numpy.zeros.
func (m *module) imported(e pysrc.Expr) string {
	name := dotted(e)
	root, rest, _ := strings.Cut(name, ".")
	full, ok := m.imports[root]
	if !ok {
		return name
	}
	if rest == "" {
		return full
	}
	return full + "." + rest
}

// readImports collects the names that imports bind, wherever they are.
func (m *module) readImports(s pysrc.Stmt) {
	switch s := s.(type) {
	case *pysrc.Import:
		for _, a := range s.Names {
			if a.As != "" {
				m.imports[a.As] = a.Name
			}
			m.libraries[firstPart(a.Name)] = true
		}
	case *pysrc.ImportFrom:
		for _, a := range s.Names {
			name := a.As
			if name == "" {
				name = a.Name
			}
			if s.Level == 0 && a.Name != "*" {
				m.imports[name] = s.Module + "." + a.Name
				m.words[a.Name] = true
			}
		}
		if s.Level == 0 {
			m.libraries[firstPart(s.Module)] = true
		}
	}
}

func firstPart(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// argument returns the value of a keyword argument, nil if it is not given.
func argument(c *pysrc.Call, name string) pysrc.Expr {
	for _, a := range c.Args {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// positional returns the positional arguments of a call, up to the first *args.
func positional(c *pysrc.Call) []pysrc.Expr {
	var out []pysrc.Expr
	for _, a := range c.Args {
		if a.Name != "" || a.Stars > 0 {
			break
		}
		out = append(out, a.Value)
	}
	return out
}

// unpacks reports whether a call passes *args or **kwargs, so that its arguments are unknown.
func unpacks(c *pysrc.Call) bool {
	for _, a := range c.Args {
		if a.Stars > 0 {
			return true
		}
	}
	return false
}

// isTrue and isFalse report whether an expression is that constant.
func isTrue(e pysrc.Expr) bool  { return isConst(e, "True") }
func isFalse(e pysrc.Expr) bool { return isConst(e, "False") }

func isConst(e pysrc.Expr, text string) bool {
	c, ok := e.(*pysrc.Const)
	return ok && c.Text == text
}

// text returns the value of a string literal.
func text(e pysrc.Expr) (string, bool) {
	s, ok := e.(*pysrc.Str)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// method returns the receiver and the name of x.name(…); nil if the call is not a method call.
func method(c *pysrc.Call) (pysrc.Expr, string) {
	a, ok := c.Func.(*pysrc.Attribute)
	if !ok {
		return nil, ""
	}
	return a.X, a.Name
}

// rootOf returns the container that x.setdefault(k, []), x[k] or x.get(k) is a part of.
func rootOf(e pysrc.Expr) pysrc.Expr {
	for range 8 {
		switch x := e.(type) {
		case *pysrc.Subscript:
			e = x.X
		case *pysrc.Call:
			on, name := method(x)
			if name != "setdefault" && name != "get" {
				return e
			}
			e = on
		default:
			return e
		}
	}
	return e
}

// anyIn reports whether an expression or one of its subexpressions satisfies ok.
func anyIn(e pysrc.Expr, ok func(pysrc.Expr) bool) bool {
	if e == nil {
		return false
	}
	if ok(e) {
		return true
	}
	found := false
	pysrc.ExprParts(e, func(part pysrc.Expr) { found = found || anyIn(part, ok) })
	return found
}

// mentions reports whether an expression contains a name or a.b.c.
func mentions(e pysrc.Expr, name string) bool {
	return anyIn(e, func(x pysrc.Expr) bool { return dotted(x) == name })
}

// hasWord reports whether a name contains one of the words.
func hasWord(name string, words ...string) bool {
	name = strings.ToLower(name)
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
