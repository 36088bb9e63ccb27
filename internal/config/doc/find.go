// SPDX-License-Identifier: Apache-2.0

package doc

// Find returns the value at a path. An alias, a merge key or a variable is followed to its definition; Via
// then contains the position of the reference.
func (d *Document) Find(p Path) (Value, error) {
	steps, err := d.lookup(p)
	if err != nil {
		return Value{}, err
	}
	v := d.value(p, steps[len(steps)-1].node.resolve())
	v.More = steps[len(steps)-1].node.more
	for _, s := range steps {
		if s.via != nil {
			v.Via = s.via
		}
	}
	return v, nil
}

// Has reports whether there is a value at a path.
func (d *Document) Has(p Path) bool {
	_, err := d.lookup(p)
	return err == nil
}

// Mentions reports whether there is anything at a path: one value, or several with one name, for which Find
// returns an error.
func (d *Document) Mentions(p Path) bool {
	at := d.root
	for _, key := range p {
		at = at.resolve()
		if at.kind != Map && at.kind != List {
			return false
		}
		e, _, err := at.child(key)
		switch {
		case err != nil:
			return true
		case e == nil:
			return at.kind == Map && at.isNumbered(key)
		}
		at = e.value
	}
	return true
}

// Walk calls f for every value in file order, maps and lists before their contents, until f returns false.
// Values behind an alias or a merge key are visited only where they are defined. The use of a variable is
// visited as its definition, with Via set.
func (d *Document) Walk(f func(Value) bool) {
	d.walk(nil, d.root, f)
}

func (d *Document) walk(p Path, n *node, f func(Value) bool) bool {
	v := d.value(p, n.resolve())
	v.More = n.more
	if n.target != nil {
		v.Via = d.reference(n.name, p, n.start)
	}
	if !f(v) {
		return false
	}
	if n.target != nil {
		return true
	}
	for _, e := range n.entries {
		if !d.walk(p.Join(e.key), e.value, f) {
			return false
		}
	}
	return true
}

// value returns a node as a Value.
func (d *Document) value(p Path, n *node) Value {
	v := Value{Path: p, Kind: n.kind, Data: n.data, Start: n.start, End: n.end, Anchor: n.anchor}
	v.Text = d.text[n.start:n.end]
	v.Line, v.Column = d.position(n.start)
	v.Len = len(n.entries)
	if n.kind == Expression {
		v.Why, v.Ends = n.fixed, n.ends
	}
	if n.kind == Map {
		v.Keys = make([]string, 0, len(n.entries))
		for _, e := range n.entries {
			v.Keys = append(v.Keys, e.key)
		}
	}
	return v
}
