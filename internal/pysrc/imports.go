// SPDX-License-Identifier: Apache-2.0

package pysrc

import "strings"

// modules reads the module names after import.
func (p *parser) modules() []Alias {
	var names []Alias
	for {
		names = append(names, p.renamed(p.dotted()))
		if !p.accept(",") {
			return names
		}
	}
}

// dotted reads the name of a module.
func (p *parser) dotted() string {
	parts := []string{p.name()}
	for p.accept(".") {
		parts = append(parts, p.name())
	}
	return strings.Join(parts, ".")
}

func (p *parser) renamed(of string) Alias {
	a := Alias{Name: of}
	if p.accept("as") {
		a.As = p.name()
	}
	return a
}

func (p *parser) importFrom() Stmt {
	s := &ImportFrom{Pos: p.take().pos()}
	for p.is(".") || p.is("...") {
		s.Level += len(p.take().text)
	}
	if s.Level == 0 || !p.is("import") {
		s.Module = p.dotted()
	}
	p.expect("import")
	switch {
	case p.accept("*"):
		s.Names = []Alias{{Name: "*"}}
	case p.accept("("):
		s.Names = p.importedNames(true)
		p.expect(")")
	default:
		s.Names = p.importedNames(false)
	}
	return s
}

// importedNames reads names; in brackets, a trailing comma is allowed.
func (p *parser) importedNames(brackets bool) []Alias {
	var names []Alias
	for {
		names = append(names, p.renamed(p.name()))
		if !p.accept(",") || brackets && p.is(")") {
			return names
		}
	}
}
