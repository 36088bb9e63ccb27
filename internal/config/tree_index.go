// SPDX-License-Identifier: Apache-2.0

package config

import "snug/internal/config/doc"

// treeIndex is every value of a tree, and which ones have a name: systems whose
// files anybody writes ask for some two hundred.
type treeIndex struct {
	values []treeValue
	// byKey and byName are the values whose paths end in a key, as it is written
	// and as names are compared.
	byKey, byName map[string][]int
}

// treeValue is one value of a tree, and its path as names are compared.
type treeValue struct {
	path  doc.Path
	value doc.Value
	parts []string
}

// indexOf goes through every value that is not a map or list, and every map and
// list too, in the order of the files; values that a later layer replaces are left
// out.
func indexOf(layers []layer) *treeIndex {
	x := &treeIndex{byKey: map[string][]int{}, byName: map[string][]int{}}
	for i, l := range layers {
		later := tree{layers: layers[i+1:]}
		l.doc.Walk(func(v doc.Value) bool {
			p := v.Path
			if len(l.mount) > 0 {
				p = l.mount.Join(v.Path...)
			}
			if v.Kind == doc.Map || !later.has(p) {
				x.add(treeValue{p, v, nameParts(p)})
			}
			return true
		})
	}
	return x
}

func (x *treeIndex) add(v treeValue) {
	n := len(x.values)
	x.values = append(x.values, v)
	if last := len(v.path) - 1; last >= 0 {
		x.byKey[v.path[last]] = append(x.byKey[v.path[last]], n)
	}
	if last := len(v.parts) - 1; last >= 0 {
		x.byName[v.parts[last]] = append(x.byName[v.parts[last]], n)
	}
}

// walk calls f with every value of a tree.
func (t tree) walk(f func(doc.Path, doc.Value)) {
	for _, v := range t.index().values {
		f(v.path, v.value)
	}
}

// named is every path that ends in a key.
func (t tree) named(name string) []doc.Path {
	x := t.index()
	var out []doc.Path
	for _, i := range x.byKey[name] {
		out = append(out, x.values[i].path)
	}
	return out
}
