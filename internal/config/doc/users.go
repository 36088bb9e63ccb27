// SPDX-License-Identifier: Apache-2.0

package doc

import "slices"

// An edit of a value reaches every place that refers to it, or to a map or list
// around it. The path that is edited may itself lead through references; those
// are expected to change. All others are users, and who asks for one place to
// change has not asked for them.

// Users are the places that setting the value at a path would change without
// having been named: what Set refuses with ErrShared.
func (d *Document) Users(p Path) []Reference {
	steps, err := d.lookup(p)
	if err != nil || d.isVariable(steps) {
		return nil
	}
	return d.users(steps)
}

// users are the places that an edit of the value at the end of these steps
// reaches without having been named.
func (d *Document) users(steps []step) []Reference {
	var named []*node
	for _, s := range steps {
		named = append(named, s.through...)
	}
	// Each reference that was followed stands somewhere itself, and whoever
	// refers to something around it is reached as well.
	var users []Reference
	for _, n := range append(named, steps[len(steps)-1].node.resolve()) {
		chain := d.chain(n)
		d.references(nil, d.root, func(p Path, in *node, e *entry) {
			if slices.Contains(named, e.value) || !reaches(chain, in, e) {
				return
			}
			r := *d.reference(e.value.name, p, e.value.start)
			if !slices.ContainsFunc(users, func(u Reference) bool { return u.Line == r.Line && u.Column == r.Column }) {
				users = append(users, r)
			}
		})
	}
	return users
}

// link is a node on the way from the root to where something stands, and the
// key that leads on from it.
type link struct {
	node *node
	next string
}

// chain is the way from the root to a node, by where it is written.
func (d *Document) chain(n *node) []link {
	var found []link
	var descend func(at *node, way []link) bool
	descend = func(at *node, way []link) bool {
		if at == n {
			found = append(slices.Clone(way), link{node: at})
			return true
		}
		for _, e := range at.entries {
			if descend(e.value, append(way, link{at, e.key})) {
				return true
			}
		}
		return false
	}
	descend(d.root, nil)
	return found
}

// reaches says whether a reference takes its value from somewhere on a chain. A
// merge brings in a map's keys one by one: one that the merging map has itself
// is not taken.
func reaches(chain []link, in *node, e *entry) bool {
	for _, l := range chain {
		if l.node != e.value.resolve() {
			continue
		}
		if e.merge && l.next != "" {
			own, _ := in.own(l.next)
			return own == nil
		}
		return true
	}
	return false
}

// references calls f for every reference in the tree, with the map or list that
// it stands in.
func (d *Document) references(p Path, n *node, f func(Path, *node, *entry)) {
	for i := range n.entries {
		e := &n.entries[i]
		if e.value.target != nil {
			f(p.Join(e.key), n, e)
			continue
		}
		if e.merge {
			d.mergeReferences(p, n, e, f)
			continue
		}
		d.references(p.Join(e.key), e.value, f)
	}
}

// mergeReferences is for <<: [*a, *b], whose references merge into n.
func (d *Document) mergeReferences(p Path, n *node, list *entry, f func(Path, *node, *entry)) {
	for i := range list.value.entries {
		e := list.value.entries[i]
		if e.value.target != nil {
			e.merge = true
			f(p.Join(list.key), n, &e)
		}
	}
}
