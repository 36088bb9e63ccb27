// SPDX-License-Identifier: Apache-2.0

package pysrc

// Parts calls expr and block for the expressions and blocks of a statement, but not for decorators, parameters,
// exception types, or case guards. An absent part is a nil expression.
func Parts(s Stmt, expr func(Expr), block func([]Stmt)) {
	all := func(es []Expr) {
		for _, e := range es {
			expr(e)
		}
	}
	switch s := s.(type) {
	case *ExprStmt:
		expr(s.X)
	case *Assign:
		expr(s.Value)
		all(s.Targets)
	case *AugAssign:
		expr(s.Target)
		expr(s.Value)
	case *AnnAssign:
		expr(s.Value)
		expr(s.Target)
	case *Return:
		expr(s.X)
	case *Del:
		all(s.Targets)
	case *Raise:
		expr(s.X)
	case *Assert:
		expr(s.Test)
	default:
		blockParts(s, expr, block)
	}
}

// blockParts is Parts for statements that have blocks.
func blockParts(s Stmt, expr func(Expr), block func([]Stmt)) {
	switch s := s.(type) {
	case *If:
		expr(s.Test)
		block(s.Then)
		block(s.Else)
	case *While:
		expr(s.Test)
		block(s.Body)
		block(s.Else)
	case *For:
		expr(s.Target)
		expr(s.Iter)
		block(s.Body)
		block(s.Else)
	case *With:
		for _, i := range s.Items {
			expr(i.X)
			expr(i.As)
		}
		block(s.Body)
	case *Try:
		block(s.Body)
		for _, h := range s.Handlers {
			block(h.Body)
		}
		block(s.Else)
		block(s.Finally)
	case *FunctionDef:
		block(s.Body)
	case *ClassDef:
		block(s.Body)
	case *Match:
		expr(s.Subject)
		for _, c := range s.Cases {
			block(c.Body)
		}
	}
}

// ExprParts calls expr for the expressions inside an expression, but not for a lambda's parameters. An absent part is
// nil.
func ExprParts(e Expr, expr func(Expr)) {
	all := func(es []Expr) {
		for _, e := range es {
			expr(e)
		}
	}
	switch e := e.(type) {
	case *FString:
		all(e.Parts)
	case *Attribute:
		expr(e.X)
	case *Subscript:
		expr(e.X)
		expr(e.Index)
	case *Slice:
		all([]Expr{e.Lo, e.Hi, e.Step})
	case *Call:
		expr(e.Func)
		for _, a := range e.Args {
			expr(a.Value)
		}
	case *Unary:
		expr(e.X)
	case *Binary:
		expr(e.L)
		expr(e.R)
	case *BoolOp:
		all(e.Values)
	case *Compare:
		expr(e.Left)
		all(e.Rights)
	case *Conditional:
		all([]Expr{e.Test, e.Then, e.Else})
	case *Lambda:
		expr(e.Body)
	case *Tuple:
		all(e.Elts)
	case *List:
		all(e.Elts)
	case *Set:
		all(e.Elts)
	case *Dict:
		all(e.Keys)
		all(e.Values)
	case *Comprehension:
		for _, c := range e.Clauses {
			expr(c.Iter)
			expr(c.Target)
			all(c.Ifs)
		}
		expr(e.Elt)
		expr(e.Value)
	case *Starred:
		expr(e.X)
	case *Await:
		expr(e.X)
	case *Yield:
		expr(e.X)
	case *Walrus:
		expr(e.Value)
	}
}
