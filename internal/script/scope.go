// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/pysrc"

// scope holds the variables of a module, a function or a comprehension.
type scope struct {
	refs
	vars     dict
	parent   *scope // where names are looked up next
	info     *funcInfo
	globals  *scope
	file     *pysrc.File
	method   *class // the class whose method this is
	self     value  // its first argument, borrowed
	result   value
	called   pysrc.Pos // position of the call
	yield    func(value) bool
	isModule bool
	isClass  bool // body of a class, whose variables its functions do not see
}

func (s *scope) release() {
	if s != nil && s.last() {
		dropAll(s.vars.vals)
		s.vars.vals, s.vars.keys, s.vars.index = nil, nil, nil
		s.parent.release()
	}
}

// leave drops a function's variables when it returns. Variables captured by inner functions live as long as those
// functions.
func (s *scope) leave() {
	if s.more > 0 {
		kept := dict{}
		for i, k := range s.vars.keys {
			if s.info.captured[k.(string)] {
				kept.keys, kept.vals = append(kept.keys, k), append(kept.vals, s.vars.vals[i])
				continue
			}
			drop(s.vars.vals[i])
		}
		s.vars.keys, s.vars.vals, s.vars.index = kept.keys, kept.vals, nil
	}
	s.release()
}

// skips advances the iterators that a generator loops over to their last items.
func (s *scope) skips() bool {
	any := false
	for _, v := range s.vars.vals {
		if it, ok := v.(*iterator); ok && it.skip != nil && it.skip() {
			any = true
		}
	}
	return any
}

// lookup borrows the value of a name.
func (s *scope) lookup(name string) (value, bool) {
	for at := s; at != nil; at = at.parent {
		if at.info != nil && at.info.global[name] {
			return at.globals.vars.get(name)
		}
		if v, ok := at.vars.get(name); ok {
			return v, ok
		}
	}
	return nil, false
}

// owner returns the scope in which an assignment binds a name.
func (s *scope) owner(name string) *scope {
	if s.info == nil {
		return s
	}
	if s.info.global[name] {
		return s.globals
	}
	if s.info.nonlocal[name] {
		for at := s.parent; at != nil; at = at.parent {
			if _, ok := at.vars.get(name); ok {
				return at
			}
		}
	}
	return s
}

// funcInfo lists the names used in a function's body.
type funcInfo struct {
	global, nonlocal map[string]bool
	captured         map[string]bool // used by inner functions
	generator        bool
}

// namesIn collects the names used in a function's body.
func namesIn(body []pysrc.Stmt, result pysrc.Expr) *funcInfo {
	f := &funcInfo{global: map[string]bool{}, nonlocal: map[string]bool{}, captured: map[string]bool{}}
	v := walker{info: f}
	v.stmts(body)
	v.expr(result)
	return f
}
