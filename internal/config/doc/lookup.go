// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one node on the path to a value.
type step struct {
	node *node      // the node as written; an alias is not followed yet
	via  *Reference // set if this step followed a reference
	// through are the references that were followed to get here.
	through []*node
}

// lookup walks down a path. The last step is the value itself.
func (d *Document) lookup(p Path) ([]step, error) {
	steps := []step{{node: d.root}}
	for i, key := range p {
		at := steps[len(steps)-1].node.resolve()
		if at.kind != Map && at.kind != List {
			return nil, d.errorAt(at.start, fmt.Errorf("%s is %w: %s is a %s", p, ErrNotFound, p[:i], at.kind))
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

// mergeKey returns the byte at which a map's first << key begins.
func mergeKey(n *node) int {
	if all := n.merges(); len(all) > 0 {
		return n.entries[all[0]].keyStart
	}
	return n.start
}

func (d *Document) reference(name string, p Path, at int) *Reference {
	line, column := d.position(at)
	return &Reference{Name: name, Path: p.Join(), Line: line, Column: column}
}

// notFound returns an error that reports how far a path could be followed.
func (d *Document) notFound(at *node, p Path, i int) error {
	where := d.name
	if i > 0 {
		where = p[:i].String()
	}
	if at.kind == List {
		return d.errorAt(at.start, fmt.Errorf("%s is %w: %s has %d items", p, ErrNotFound, where, len(at.entries)))
	}
	if at.isNumbered(p[i]) {
		names, first := repeated(at, p[i])
		return d.errorAt(first, fmt.Errorf("%s is %w: name one of %s", p, ErrAmbiguous, names))
	}
	return d.errorAt(at.start, fmt.Errorf("%s is %w: no %s in %s", p, ErrNotFound, Path{p[i]}, where))
}

// repeated lists the numbered names of a repeated name, and returns the position of the first.
func repeated(at *node, base string) (list string, first int) {
	var names []string
	first = -1
	for _, e := range at.entries {
		b, n, ok := strings.Cut(e.key, "#")
		if !ok || b != base {
			continue
		}
		if first < 0 {
			first = e.keyStart
		}
		if _, err := strconv.Atoi(n); err == nil {
			names = append(names, e.key)
		}
	}
	return strings.Join(names, ", "), first
}
