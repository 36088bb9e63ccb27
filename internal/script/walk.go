// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// walker collects the funcInfo of a function from its body.
type walker struct {
	info   *funcInfo
	within int // number of inner functions around the current node
}

func (v *walker) stmts(body []pysrc.Stmt) {
	for _, s := range body {
		v.stmt(s)
	}
}

func (v *walker) stmt(s pysrc.Stmt) {
	switch s := s.(type) {
	case *pysrc.Global:
		if v.within == 0 {
			for _, n := range s.Names {
				v.info.global[n] = true
			}
		}
	case *pysrc.Nonlocal:
		for _, n := range s.Names {
			if v.within == 0 {
				v.info.nonlocal[n] = true
			} else {
				v.info.captured[n] = true
			}
		}
	case *pysrc.FunctionDef:
		v.exprs(s.Decorators...)
		v.params(s.Params)
		v.within++
		v.stmts(s.Body)
		v.within--
	case *pysrc.ClassDef:
		v.within++
		v.stmts(s.Body)
		v.within--
	default:
		pysrc.Parts(s, v.expr, v.stmts)
	}
}

func (v *walker) params(ps []pysrc.Param) {
	for _, p := range ps {
		v.expr(p.Default)
	}
}

func (v *walker) exprs(es ...pysrc.Expr) {
	for _, e := range es {
		v.expr(e)
	}
}

func (v *walker) expr(e pysrc.Expr) {
	switch e := e.(type) {
	case nil:
	case *pysrc.Name:
		if v.within > 0 {
			v.info.captured[e.ID] = true
		}
	case *pysrc.Yield:
		v.info.generator = v.info.generator || v.within == 0
		v.expr(e.X)
	case *pysrc.Lambda:
		v.params(e.Params)
		v.within++
		v.expr(e.Body)
		v.within--
	default:
		pysrc.ExprParts(e, v.expr)
	}
}

// mentions reports whether a block uses an attribute with one of the names.
func mentions(body []pysrc.Stmt, names map[string]bool) bool {
	found := false
	var block func([]pysrc.Stmt)
	var expr func(pysrc.Expr)
	expr = func(e pysrc.Expr) {
		if e == nil || found {
			return
		}
		if a, ok := e.(*pysrc.Attribute); ok && names[a.Name] {
			found = true
			return
		}
		pysrc.ExprParts(e, expr)
	}
	block = func(ss []pysrc.Stmt) {
		for _, s := range ss {
			pysrc.Parts(s, expr, block)
		}
	}
	block(body)
	return found
}
