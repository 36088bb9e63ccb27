// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"slices"
	"strconv"
	"strings"
)

// child finds an entry by its key, following merge keys: a map's own keys take precedence, then earlier
// merges over later ones. through contains the references of the merge keys that were followed. found is nil
// if there is no such key.
func (n *node) child(key string) (found *entry, through []*node, err error) {
	if found, err = n.own(key); found != nil || err != nil || len(n.merges()) == 0 {
		return found, nil, err
	}
	m := merging{key: key, seen: map[*node]bool{}}
	return m.child(n, 0)
}

// Limits on merge keys: how many may be chained, and how many maps may be merged into one.
const (
	maxMerges = 16
	maxMerged = 256
)

// merging is the search for a key through merge keys. Each map is searched only once: if sixteen maps each
// merge the next one twice, there are 65,536 paths to the last.
type merging struct {
	key  string
	seen map[*node]bool
}

func (m *merging) child(n *node, depth int) (found *entry, through []*node, err error) {
	if found, err = n.own(m.key); found != nil || err != nil || depth > maxMerges {
		return found, nil, err
	}
	for _, i := range n.merges() {
		for _, source := range mergeSources(n.entries[i].value) {
			at := source.resolve()
			if m.seen[at] {
				continue
			}
			if m.seen[at] = true; len(m.seen) > maxMerged {
				return nil, nil, failAt(n.start, "more than %d maps are merged into this one", maxMerged)
			}
			e, through, err := m.child(at, depth+1)
			if e != nil || err != nil {
				return e, append(through, n.entries[i].value, source), err
			}
		}
	}
	return nil, nil, nil
}

// merges returns the entries of a map that are << keys.
func (n *node) merges() []int {
	if n.index != nil {
		return n.index.merges
	}
	var out []int
	for i := range n.entries {
		if n.entries[i].merge {
			out = append(out, i)
		}
	}
	return out
}

// own returns the map's own entry for a key, or the list's item; nil if there is none.
func (n *node) own(key string) (found *entry, err error) {
	s, there := n.spot(key)
	switch {
	case !there:
		return nil, nil
	case s.second > 0:
		return nil, failAt(n.entries[s.second].keyStart, "%w: the key %s occurs twice", ErrAmbiguous, Path{key})
	}
	return &n.entries[s.first], nil
}

// spot returns the positions of a key, and whether it exists.
func (n *node) spot(key string) (s spot, there bool) {
	switch {
	case n.kind == List:
		i, err := strconv.Atoi(key)
		return spot{first: i}, err == nil && i >= 0 && i < len(n.entries) && n.entries[i].key == key
	case n.index != nil:
		s, there = n.index.spots[key]
		return s, there
	}
	for i := range n.entries {
		if e := &n.entries[i]; e.merge || e.key != key {
			continue
		}
		if there {
			s.second = i
			return s, true
		}
		s.first, there = i, true
	}
	return s, there
}

// isNumbered reports whether a name occurs several times, as name#1, name#2.
func (n *node) isNumbered(name string) bool {
	if n.index != nil {
		return n.index.numbered[name]
	}
	return slices.ContainsFunc(n.entries, func(e entry) bool {
		base, _, ok := strings.Cut(e.key, "#")
		return ok && base == name
	})
}

// mergeSources returns the maps, or references to maps, that a << key brings in.
func mergeSources(n *node) []*node {
	if n.resolve().kind == Map {
		return []*node{n}
	}
	var sources []*node
	for _, e := range n.resolve().entries {
		if e.value.resolve().kind == Map {
			sources = append(sources, e.value)
		}
	}
	return sources
}
