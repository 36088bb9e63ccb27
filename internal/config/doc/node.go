// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"strconv"
	"strings"
)

// node is a value in the tree that every format parses into.
type node struct {
	kind       Kind
	data       any
	start, end int    // the value's bytes, without anchor and tag
	fixed      string // why it cannot be replaced; "" where it can
	anchor     string
	entries    []entry
	// target is where an alias or a variable is defined, and name what it is
	// referred to by.
	target *node
	name   string
	// style is the format's own note of how the value is written.
	style string
}

// entry is one key of a map or one item of a list.
type entry struct {
	key      string
	keyStart int // where the key begins; for an item where the value does
	value    *node
	merge    bool // a YAML << key
}

// resolve follows references to the value itself.
func (n *node) resolve() *node {
	for range maxDepth {
		if n == nil || n.target == nil {
			return n
		}
		n = n.target
	}
	return n
}

// maxDepth bounds how deep trees and references are followed.
const maxDepth = 1000

// child finds an entry by its key, also through merge keys: a map's own keys
// win, then earlier merges over later ones. through are the merge keys'
// references that led there.
func (n *node) child(key string) (found *entry, through []*node, err error) {
	return n.childWithin(key, 0)
}

// maxMerges bounds how many merge keys may lead from one to the next.
const maxMerges = 16

func (n *node) childWithin(key string, depth int) (found *entry, through []*node, err error) {
	if found, err = n.own(key); found != nil || err != nil || depth > maxMerges {
		return found, nil, err
	}
	for i := range n.entries {
		if !n.entries[i].merge {
			continue
		}
		for _, source := range mergeSources(n.entries[i].value) {
			e, through, err := source.resolve().childWithin(key, depth+1)
			if e != nil || err != nil {
				return e, append(through, n.entries[i].value, source), err
			}
		}
	}
	return nil, nil, nil
}

// own finds a key that stands in the map itself.
func (n *node) own(key string) (found *entry, err error) {
	for i := range n.entries {
		e := &n.entries[i]
		if e.merge || e.key != key {
			continue
		}
		if found != nil {
			return nil, failAt(e.keyStart, "%w: the key %s is written twice", ErrAmbiguous, Path{key})
		}
		found = e
	}
	return found, nil
}

// mergeSources are the maps, or references to maps, that a << key brings in.
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

// step is one node on the way to a value.
type step struct {
	node *node      // as it stands there: an alias is not followed yet
	via  *Reference // set where this step left the path's own place
	// through are the references that were followed to get here.
	through []*node
}

// lookup walks down a path. The last step is the value itself.
func (d *Document) lookup(p Path) ([]step, error) {
	steps := []step{{node: d.root}}
	for i, key := range p {
		at := steps[len(steps)-1].node.resolve()
		if at.kind != Map && at.kind != List {
			return nil, d.errorAt(at.start, fmt.Errorf("%s is %w: %s holds a %s", p, ErrNotFound, p[:i], at.kind))
		}
		e, through, err := at.child(key)
		if err != nil {
			return nil, d.located(err)
		}
		if e == nil {
			return nil, d.notFound(at, p, i)
		}
		s := step{node: e.value, through: through}
		if len(through) > 0 {
			s.via = d.reference("<<", p[:i], mergeKey(at))
		}
		if e.value.target != nil {
			s.via = d.reference(e.value.name, p[:i+1], e.value.start)
			s.through = append(s.through, e.value)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// mergeKey is where a map's first << key stands.
func mergeKey(n *node) int {
	for _, e := range n.entries {
		if e.merge {
			return e.keyStart
		}
	}
	return n.start
}

func (d *Document) reference(name string, p Path, at int) *Reference {
	line, column := d.position(at)
	return &Reference{Name: name, Path: p.Join(), Line: line, Column: column}
}

// notFound says how far a path led.
func (d *Document) notFound(at *node, p Path, i int) error {
	where := d.name
	if i > 0 {
		where = p[:i].String()
	}
	if at.kind == List {
		return d.errorAt(at.start, fmt.Errorf("%s is %w: %s has %d items", p, ErrNotFound, where, len(at.entries)))
	}
	for _, e := range at.entries {
		if base, _, ok := strings.Cut(e.key, "#"); ok && base == p[i] {
			return d.errorAt(e.keyStart, fmt.Errorf("%s is %w: name one of %s", p, ErrAmbiguous, repeated(at, base)))
		}
	}
	return d.errorAt(at.start, fmt.Errorf("%s is %w: no %s in %s", p, ErrNotFound, Path{p[i]}, where))
}

// repeated lists the numbered names of something that is given several times.
func repeated(at *node, base string) string {
	var names []string
	for _, e := range at.entries {
		if b, n, ok := strings.Cut(e.key, "#"); ok && b == base {
			if _, err := strconv.Atoi(n); err == nil {
				names = append(names, e.key)
			}
		}
	}
	return strings.Join(names, ", ")
}
