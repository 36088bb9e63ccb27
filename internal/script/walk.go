// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// walker collects the funcInfo of a function from its body.
type walker struct {
	info   *funcInfo
	within int // inner functions around the current node
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
		parts(s, v.expr, v.stmts)
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
		exprParts(e, v.expr)
	}
}

// parts calls expr and block for the expressions and blocks of a statement.
func parts(s pysrc.Stmt, expr func(pysrc.Expr), block func([]pysrc.Stmt)) {
	all := func(es []pysrc.Expr) {
		for _, e := range es {
			expr(e)
		}
	}
	switch s := s.(type) {
	case *pysrc.ExprStmt:
		expr(s.X)
	case *pysrc.Assign:
		expr(s.Value)
		all(s.Targets)
	case *pysrc.AugAssign:
		expr(s.Target)
		expr(s.Value)
	case *pysrc.AnnAssign:
		expr(s.Value)
		expr(s.Target)
	case *pysrc.Return:
		expr(s.X)
	case *pysrc.Del:
		all(s.Targets)
	case *pysrc.Raise:
		expr(s.X)
	case *pysrc.Assert:
		expr(s.Test)
	default:
		blockParts(s, expr, block)
	}
}

// blockParts is parts for statements that have blocks.
func blockParts(s pysrc.Stmt, expr func(pysrc.Expr), block func([]pysrc.Stmt)) {
	switch s := s.(type) {
	case *pysrc.If:
		expr(s.Test)
		block(s.Then)
		block(s.Else)
	case *pysrc.While:
		expr(s.Test)
		block(s.Body)
		block(s.Else)
	case *pysrc.For:
		expr(s.Target)
		expr(s.Iter)
		block(s.Body)
		block(s.Else)
	case *pysrc.With:
		for _, i := range s.Items {
			expr(i.X)
			expr(i.As)
		}
		block(s.Body)
	case *pysrc.Try:
		block(s.Body)
		for _, h := range s.Handlers {
			block(h.Body)
		}
		block(s.Else)
		block(s.Finally)
	case *pysrc.FunctionDef:
		block(s.Body)
	case *pysrc.ClassDef:
		block(s.Body)
	case *pysrc.Match:
		expr(s.Subject)
		for _, c := range s.Cases {
			block(c.Body)
		}
	}
}

// exprParts calls expr for the expressions inside an expression.
func exprParts(e pysrc.Expr, expr func(pysrc.Expr)) {
	all := func(es []pysrc.Expr) {
		for _, e := range es {
			expr(e)
		}
	}
	switch e := e.(type) {
	case *pysrc.FString:
		all(e.Parts)
	case *pysrc.Attribute:
		expr(e.X)
	case *pysrc.Subscript:
		expr(e.X)
		expr(e.Index)
	case *pysrc.Slice:
		all([]pysrc.Expr{e.Lo, e.Hi, e.Step})
	case *pysrc.Call:
		expr(e.Func)
		for _, a := range e.Args {
			expr(a.Value)
		}
	case *pysrc.Unary:
		expr(e.X)
	case *pysrc.Binary:
		expr(e.L)
		expr(e.R)
	case *pysrc.BoolOp:
		all(e.Values)
	case *pysrc.Compare:
		expr(e.Left)
		all(e.Rights)
	case *pysrc.Conditional:
		all([]pysrc.Expr{e.Test, e.Then, e.Else})
	case *pysrc.Lambda:
		expr(e.Body)
	case *pysrc.Tuple:
		all(e.Elts)
	case *pysrc.List:
		all(e.Elts)
	case *pysrc.Set:
		all(e.Elts)
	case *pysrc.Dict:
		all(e.Keys)
		all(e.Values)
	case *pysrc.Comprehension:
		for _, c := range e.Clauses {
			expr(c.Iter)
			expr(c.Target)
			all(c.Ifs)
		}
		expr(e.Elt)
		expr(e.Value)
	case *pysrc.Starred:
		expr(e.X)
	case *pysrc.Await:
		expr(e.X)
	case *pysrc.Yield:
		expr(e.X)
	case *pysrc.Walrus:
		expr(e.Value)
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
		exprParts(e, expr)
	}
	block = func(ss []pysrc.Stmt) {
		for _, s := range ss {
			parts(s, expr, block)
		}
	}
	block(body)
	return found
}
