// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"cmp"
	"slices"
)

// An edit of a value affects every place that refers to it, or to a map or list around it. The edited
// path may itself lead through references; those are expected to change. All other references are users: a
// request to change one place is not a request to change them.

// Users returns the other places that setting the value at a path would change: those for which Set returns
// ErrShared.
func (d *Document) Users(p Path) []Reference {
	steps, err := d.lookup(p)
	if err != nil || d.isVariable(steps) {
		return nil
	}
	return d.users(steps)
}

// users returns the other places that an edit of the value at the end of these steps would change.
func (d *Document) users(steps []step) []Reference {
	if len(d.references) == 0 {
		return nil
	}
	named := map[*node]bool{}
	var edited []*node
	for _, s := range steps {
		for _, n := range s.through {
			named[n] = true
			edited = append(edited, n)
		}
	}
	// Each followed reference is itself in a map or list; references to that map or list count too.
	var users []Reference
	told := map[int]bool{}
	for _, n := range append(edited, steps[len(steps)-1].node.resolve()) {
		for _, r := range d.reaching(n) {
			if !named[r.value] && !told[r.value.start] {
				told[r.value.start] = true
				users = append(users, *d.reference(r.value.name, d.pathOf(r), r.value.start))
			}
		}
	}
	return users
}

// reaching returns the references that take their value from a node or from a map or
// list around it, in the document's order.
func (d *Document) reaching(n *node) []reference {
	if !d.inTree(n) {
		return nil // n is a YAML key, not a value
	}
	var out []reference
	next := "" // the key in an enclosing map that leads to n
	for at := n; at != nil; at = at.parent {
		for _, r := range d.references[at] {
			if !r.merge || next == "" || !r.overrides(next) {
				out = append(out, r)
			}
		}
		if at.parent != nil {
			next = at.parent.entries[at.slot].key
		}
	}
	slices.SortFunc(out, func(a, b reference) int { return cmp.Compare(a.order, b.order) })
	return out
}

// inTree reports whether a node is a value in the tree.
func (d *Document) inTree(n *node) bool {
	for n.parent != nil {
		n = n.parent
	}
	return n == d.root
}

// overrides reports whether the map that a merge adds to has the key itself. Merges skip such keys.
func (r reference) overrides(key string) bool {
	own, _ := r.in.own(key)
	return own != nil
}

// pathOf returns the path of a reference.
func (d *Document) pathOf(r reference) Path {
	p := Path{r.key}
	for at := r.in; at.parent != nil; at = at.parent {
		p = append(p, at.parent.entries[at.slot].key)
	}
	slices.Reverse(p)
	return p
}
