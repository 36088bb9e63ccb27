// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// layerIndex finds the layer of a tree that sets a path, so that a tree with many layers is not searched
// layer by layer.
type layerIndex struct {
	last map[string]int // the last layer that sets each path
	// refer contains the layers with aliases and merge keys, which have paths that are not written out. They are
	// searched one by one, at most maxReferring of them.
	refer []int
}

const (
	maxReferring  = 16
	maxReferences = 2_000 // maximum number of values in such a layer; a search examines all of them
)

// newLayerIndex returns the index of the layers of a tree.
func newLayerIndex(layers []Layer) *layerIndex {
	x := &layerIndex{last: map[string]int{}}
	for i, l := range layers {
		refers, n := false, 0
		l.Doc.Walk(func(v doc.Value) bool {
			n++
			if !l.counts(v.Path) {
				return true
			}
			refers = refers || v.Via != nil || slices.ContainsFunc(v.Path, func(step string) bool { return step == "<<" || strings.Contains(step, "#") })
			x.last[pathKey(l.Mount.Join(v.Path...))] = i
			return true
		})
		if refers && n <= maxReferences && len(x.refer) < maxReferring {
			x.refer = append(x.refer, i)
		}
	}
	return x
}

func pathKey(p doc.Path) string { return strings.Join(p, "\x00") }

// above returns the layers after the i-th that may contain a path, last first.
func (x *layerIndex) above(i int, p doc.Path) []int {
	var out []int
	last, ok := x.last[pathKey(p)]
	for _, r := range slices.Backward(x.refer) {
		if ok && last > r && last > i {
			out, ok = append(out, last), false
		}
		if r > i {
			out = append(out, r)
		}
	}
	if ok && last > i {
		out = append(out, last)
	}
	return out
}

// layersWith returns the layers of a tree after the i-th that may contain a path, last first.
func (t Tree) layersWith(i int, p doc.Path) []int {
	if t.lastWriters != nil && len(t.Layers) > 1 {
		return t.lastWriters().above(i, p)
	}
	var out []int
	for k := len(t.Layers) - 1; k > i; k-- {
		out = append(out, k)
	}
	return out
}
