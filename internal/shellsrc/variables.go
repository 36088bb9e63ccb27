// SPDX-License-Identifier: Apache-2.0

package shellsrc

import "slices"

// variable is the value of a variable. It is immutable: an assignment creates a new one.
type variable struct {
	pieces     []Piece
	isList     bool
	elements   []Word
	keys       []string // keys of an associative array's elements
	from       []int
	definition int // the offset of its assignment; -1 if it has none
	exported   bool
	open       string // why the list may have more elements
}

// change is a variable's value before an assignment; nil if it had none.
type change struct {
	name string
	old  *variable
}

// set gives a variable a value, and remembers the old one.
func (r *runner) set(name string, v *variable) {
	old := r.variables[name]
	if r.journaling > 0 {
		r.journal = append(r.journal, change{name, old})
	}
	if v == nil {
		delete(r.variables, name)
		return
	}
	if old != nil && old.exported || r.exportAll {
		v.exported = true
	}
	if v.exported && len(r.exports) < maxExports && !slices.Contains(r.exports, name) {
		r.exports = append(r.exports, name)
	}
	r.variables[name] = v
}

// maxExports limits the number of exported variables to examine for each command.
const maxExports = 200

// environment returns the assignments of the exported variables.
func (r *runner) environment() []int {
	var out []int
	for _, name := range r.exports {
		if v := r.variables[name]; v != nil && v.exported && v.definition >= 0 {
			out = append(out, v.definition)
		}
	}
	return out
}

// attempt calls f and undoes its assignments. It returns the variables that f changed.
func (r *runner) attempt(f func()) map[string]*variable {
	r.journaling++
	mark := len(r.journal)
	f()
	after := map[string]*variable{}
	for _, c := range r.journal[mark:] {
		after[c.name] = r.variables[c.name]
	}
	for _, c := range slices.Backward(r.journal[mark:]) {
		if c.old == nil {
			delete(r.variables, c.name)
		} else {
			r.variables[c.name] = c.old
		}
	}
	r.journal = r.journal[:mark]
	r.journaling--
	return after
}

// join sets the variables after a statement that may have ended in several ways: a variable that is the same in all
// of them keeps its value, and the others become unknown.
func (r *runner) join(ways []map[string]*variable, why string) {
	names := map[string]bool{}
	for _, w := range ways {
		for name := range w {
			names[name] = true
		}
	}
	for _, name := range sortedNames(names) {
		value := func(way map[string]*variable) *variable {
			if v, changed := way[name]; changed {
				return v
			}
			return r.variables[name]
		}
		first := value(ways[0])
		if slices.ContainsFunc(ways, func(w map[string]*variable) bool { return !equal(first, value(w)) }) {
			first = merged(ways, value, why)
		}
		r.set(name, first)
	}
}

// merged returns a variable that has one of several values. If the values are lists with the same beginning, the
// result keeps that beginning.
func merged(ways []map[string]*variable, value func(map[string]*variable) *variable, why string) *variable {
	out := &variable{pieces: unknown(why), definition: -1}
	first := value(ways[0])
	if first == nil || !first.isList {
		return out
	}
	n := len(first.elements)
	for _, w := range ways[1:] {
		v := value(w)
		if v == nil || !v.isList || v.keys != nil {
			return out
		}
		k := 0
		for k < min(n, len(v.elements)) && same(v.elements[k].Pieces, first.elements[k].Pieces) {
			k++
		}
		n = k
	}
	out.isList, out.elements, out.open, out.definition = true, first.elements[:n:n], why, first.definition
	return out
}

func sortedNames(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// equal reports whether two variables have the same value.
func equal(a, b *variable) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.isList != b.isList || a.open != b.open || len(a.elements) != len(b.elements) || !slices.Equal(a.keys, b.keys) {
		return false
	}
	for i := range a.elements {
		if !same(a.elements[i].Pieces, b.elements[i].Pieces) {
			return false
		}
	}
	return same(a.pieces, b.pieces)
}

// scalar returns a variable's value as one text; for a list, its first element.
func (v *variable) scalar() []Piece {
	if !v.isList {
		return v.pieces
	}
	if len(v.elements) > 0 {
		return v.elements[0].Pieces
	}
	if v.open != "" {
		return unknown(v.open)
	}
	return nil
}
