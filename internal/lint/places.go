// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

// place is where a statement is: the chain of blocks around it, innermost first, up to the function.
type place struct {
	outer    *place
	stmt     pysrc.Stmt     // the for, while, if, with or try; nil for the function's own block
	handler  *pysrc.Handler // the except clause whose block this is
	gradless bool           // in a block or a function that records no gradients
	depth    int
}

func (p *place) within(stmt pysrc.Stmt, gradless bool) *place {
	return &place{outer: p, stmt: stmt, gradless: p.gradless || gradless, depth: p.depth + 1}
}

// isLoop reports whether this is the block of a loop.
func (p *place) isLoop() bool {
	switch p.stmt.(type) {
	case *pysrc.For, *pysrc.While:
		return true
	}
	return false
}

// loops returns the loops around a place, innermost first.
func (p *place) loops() []*place {
	var out []*place
	for q := p; q != nil; q = q.outer {
		if q.isLoop() {
			out = append(out, q)
		}
	}
	return out
}

// loop returns the innermost loop, nil if there is none.
func (p *place) loop() *place {
	for q := p; q != nil; q = q.outer {
		if q.isLoop() {
			return q
		}
	}
	return nil
}

// in reports whether a place is inside a block.
func (p *place) in(block *place) bool {
	for q := p; q != nil && q.depth >= block.depth; q = q.outer {
		if q == block {
			return true
		}
	}
	return false
}

// always reports whether a statement at this place runs in every iteration of a loop: only with and try blocks are in
// between.
func (p *place) always(loop *place) bool {
	for q := p; q != nil; q = q.outer {
		if q == loop {
			return true
		}
		if _, ok := q.stmt.(*pysrc.With); !ok && (q.handler != nil || !isTry(q.stmt)) {
			return false
		}
	}
	return false
}

func isTry(s pysrc.Stmt) bool {
	_, ok := s.(*pysrc.Try)
	return ok
}

// inHandler returns the except clause around a place, or nil.
func (p *place) inHandler() *place {
	for q := p; q != nil; q = q.outer {
		if q.handler != nil {
			return q
		}
	}
	return nil
}

// before reports whether a comes before b.
func before(a, b pysrc.Pos) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
}

// forOldReleases reports whether the place is inside an if that checks a version, so that the code may be for an
// old release.
func (p *place) forOldReleases() bool {
	for q := p; q != nil; q = q.outer {
		test, ok := q.stmt.(*pysrc.If)
		if ok && anyIn(test.Test, func(x pysrc.Expr) bool { return hasWord(lastOf(x), "version", "hasattr", "torch_2", "_ge_", "_lt_") }) {
			return true
		}
	}
	return false
}
