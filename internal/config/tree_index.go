// SPDX-License-Identifier: Apache-2.0

package config

import (
	"iter"

	"snug/internal/config/doc"
)

// treeIndex is every value of a tree, and which ones have a name: systems whose
// files anybody writes ask for some two hundred.
type treeIndex struct {
	values []treeValue
	// first is one more than the number of the first value whose path ends in a
	// name, and each knows the next.
	first map[string]int
}

// treeValue is one value of a tree.
type treeValue struct {
	path  doc.Path
	value doc.Value
	parts []string // the path as names are compared
	next  int
}

// indexOf goes through every value that is not a map or list, and every map and
// list too, in the order of the files; values that a later layer replaces are left
// out.
func indexOf(t tree) *treeIndex {
	x := &treeIndex{first: map[string]int{}}
	for i, l := range t.layers {
		l.doc.Walk(func(v doc.Value) bool {
			p := v.Path
			if len(l.mount) > 0 {
				p = l.mount.Join(v.Path...)
			}
			if v.Kind == doc.Map || !t.hasAbove(i, p) {
				x.values = append(x.values, treeValue{path: p, value: v, parts: nameParts(p)})
			}
			return true
		})
	}
	for i := len(x.values) - 1; i >= 0; i-- {
		v := &x.values[i]
		if last := len(v.parts) - 1; last >= 0 {
			v.next = x.first[v.parts[last]]
			x.first[v.parts[last]] = i + 1
		}
	}
	return x
}

// named is the values of a name, each with its number.
func (x *treeIndex) named(name string) iter.Seq2[int, *treeValue] {
	return func(yield func(int, *treeValue) bool) {
		for i := x.first[name]; i > 0; i = x.values[i-1].next {
			if !yield(i-1, &x.values[i-1]) {
				return
			}
		}
	}
}

// walk calls f with every value of a tree.
func (t tree) walk(f func(doc.Path, doc.Value)) {
	for i := range t.index().values {
		v := &t.index().values[i]
		f(v.path, v.value)
	}
}

// named is every path that ends in a key, as it is written.
func (t tree) named(key string) []doc.Path {
	var out []doc.Path
	parts := nameParts(doc.Path{key})
	for _, v := range t.index().named(parts[len(parts)-1]) {
		if v.path[len(v.path)-1] == key {
			out = append(out, v.path)
		}
	}
	return out
}
