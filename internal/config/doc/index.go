// SPDX-License-Identifier: Apache-2.0

package doc

import "strings"

// A document is searched many times: each system's table looks up each of its keys. So when a document is
// opened, every large map gets an index of its keys, every node gets its parent, and the references are
// listed by their targets. Finding a value, or its other users, then takes as long in a one-megabyte file as
// in a ten-line file.

// fewEntries is the largest number of entries for which a search is as fast without an index.
const fewEntries = 8

// keyIndex maps the keys of a map to their positions.
type keyIndex struct {
	spots map[string]spot
	// numbered contains the names that occur as name#1, name#2.
	numbered map[string]bool
	merges   []int // the entries that are YAML << keys
}

// spot contains the positions of a key among a map's entries: the first, and the second if the key occurs
// twice.
type spot struct{ first, second int }

// reference is a place in the tree that takes its value from elsewhere.
type reference struct {
	in    *node // the map or list that contains it, or that it merges into
	key   string
	value *node
	merge bool
	order int // position in the document
}

// references maps each node to the references that lead to it, in the document's order.
type references map[*node][]reference

// index prepares a tree for lookups and returns its references.
func index(root *node) references {
	x := indexer{to: references{}}
	x.visit(root, false)
	return x.to
}

type indexer struct {
	to    references
	count int
}

// visit indexes a node and its contents. References inside a merge key's value merge into the map that
// contains the merge key.
func (x *indexer) visit(n *node, merged bool) {
	if n.kind == Map && len(n.entries) > fewEntries {
		n.index = newKeyIndex(n.entries)
	}
	for i := range n.entries {
		e := &n.entries[i]
		e.value.parent, e.value.slot = n, i
		x.visit(e.value, merged || e.merge)
		for _, d := range e.value.derived {
			x.addTo(d, reference{in: n, key: e.key, value: e.value})
		}
		switch {
		case merged:
		case e.value.target != nil:
			x.add(reference{in: n, key: e.key, value: e.value, merge: e.merge})
		case e.merge:
			x.mergeList(n, e)
		}
	}
}

// mergeList indexes the list in <<: [*a, *b].
func (x *indexer) mergeList(in *node, e *entry) {
	for _, source := range e.value.entries {
		if source.value.target != nil {
			x.add(reference{in: in, key: e.key, value: source.value, merge: true})
		}
	}
}

func (x *indexer) add(r reference) { x.addTo(r.value.resolve(), r) }

// addTo records a reference to a node.
func (x *indexer) addTo(to *node, r reference) {
	r.order = x.count
	x.count++
	x.to[to] = append(x.to[to], r)
}

func newKeyIndex(entries []entry) *keyIndex {
	x := &keyIndex{spots: make(map[string]spot, len(entries))}
	for i := range entries {
		key := entries[i].key
		if base, _, ok := strings.Cut(key, "#"); ok {
			if x.numbered == nil {
				x.numbered = map[string]bool{}
			}
			x.numbered[base] = true
		}
		if entries[i].merge {
			x.merges = append(x.merges, i)
			continue
		}
		s, there := x.spots[key]
		switch {
		case !there:
			s.first = i
		case s.second == 0:
			s.second = i
		}
		x.spots[key] = s
	}
	return x
}
