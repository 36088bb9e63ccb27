// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"iter"

	"snug/internal/config/doc"
)

// Index contains every value of a tree, and finds values by name. Systems for files without a fixed structure
// look up about two hundred names.
type Index struct {
	Values []Value // in the order of the layers
	// first maps a name to the index, plus one, of the first value with a path that ends in it. Each value stores
	// the index of the next such value.
	first map[string]int
}

// Value is one value of a tree.
type Value struct {
	Path  doc.Path  // in the tree
	Value doc.Value // as in its file
	Parts []string  // the path, normalized for comparison
	next  int
}

// newIndex returns the index of all values, including maps and lists, in file order. Values that a later
// layer replaces are omitted.
func newIndex(t Tree) *Index {
	x := &Index{first: map[string]int{}}
	for i, l := range t.Layers {
		l.Doc.Walk(func(v doc.Value) bool {
			p := v.Path
			if !l.counts(p) {
				return true
			}
			if len(l.Mount) > 0 {
				p = l.Mount.Join(v.Path...)
			}
			if v.Kind == doc.Map || !t.hasAbove(i, p) {
				x.Values = append(x.Values, Value{Path: p, Value: v, Parts: NameParts(p)})
			}
			return true
		})
	}
	for i := len(x.Values) - 1; i >= 0; i-- {
		v := &x.Values[i]
		if last := len(v.Parts) - 1; last >= 0 {
			v.next = x.first[v.Parts[last]]
			x.first[v.Parts[last]] = i + 1
		}
	}
	return x
}

// Named returns the values with a name, each with its index.
func (x *Index) Named(name string) iter.Seq2[int, *Value] {
	return func(yield func(int, *Value) bool) {
		for i := x.first[name]; i > 0; i = x.Values[i-1].next {
			if !yield(i-1, &x.Values[i-1]) {
				return
			}
		}
	}
}

// Walk calls f with every value of a tree.
func (t Tree) Walk(f func(doc.Path, doc.Value)) {
	for i := range t.Index().Values {
		v := &t.Index().Values[i]
		f(v.Path, v.Value)
	}
}

// named returns every path that ends in a key, as written.
func (t Tree) named(key string) []doc.Path {
	var out []doc.Path
	parts := NameParts(doc.Path{key})
	for _, v := range t.Index().Named(parts[len(parts)-1]) {
		if v.Path[len(v.Path)-1] == key {
			out = append(out, v.Path)
		}
	}
	return out
}
