// SPDX-License-Identifier: Apache-2.0

package doc

import "fmt"

// expected is the one allowed difference between two trees: the value of a node, or new keys in it.
type expected struct {
	at    *node
	keys  []string // new nested keys, outermost first
	reads any
}

// differs compares the tree after an edit with the one before and describes an unexpected difference.
// References are compared by name and not followed, because their definitions are in the tree too.
func (e expected) differs(old, now *node, depth int) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("the values are nested too deep")
	case old == e.at && len(e.keys) == 0:
		return e.differsHere(now)
	case old == e.at:
		return e.differsInside(old, now, depth)
	case old.style == shComputed && now.style == shComputed: // computed from other values
	case old.kind != now.kind || old.data != now.data:
		return fmt.Errorf("the value %v would read as %v", old.data, now.data)
	}
	return e.differsShape(old, now, depth)
}

// differsShape compares everything but the value: names, styles and entries.
func (e expected) differsShape(old, now *node, depth int) error {
	if old.anchor != now.anchor || old.name != now.name || old.style != now.style {
		return fmt.Errorf("another value would be written differently")
	}
	if len(old.entries) != len(now.entries) {
		return fmt.Errorf("keys would be added or removed")
	}
	for i := range old.entries {
		a, b := &old.entries[i], &now.entries[i]
		if a.key != b.key || a.merge != b.merge {
			return fmt.Errorf("the key %s would become %s", Path{a.key}, Path{b.key})
		}
		if err := e.differs(a.value, b.value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// differsHere checks the value that was set.
func (e expected) differsHere(now *node) error {
	if now.data != e.reads || now.kind == Map || now.kind == List || now.kind == Expression {
		return fmt.Errorf("%v would read as %v", e.reads, now.data)
	}
	if e.at.anchor != now.anchor {
		return fmt.Errorf("the anchor %s would be lost", e.at.anchor)
	}
	return nil
}

// differsInside checks a map that should have one more key.
func (e expected) differsInside(old, now *node, depth int) error {
	if now.kind != Map || len(now.entries) != len(old.entries)+1 {
		return fmt.Errorf("%d keys would become %d", len(old.entries), len(now.entries))
	}
	rest := *now
	rest.entries = nil
	var added *node
	for _, entry := range now.entries {
		if entry.key == e.keys[0] && added == nil {
			added = entry.value
			continue
		}
		rest.entries = append(rest.entries, entry)
	}
	for _, key := range e.keys[1:] {
		if added == nil || added.kind != Map || len(added.entries) != 1 || added.entries[0].key != key {
			return fmt.Errorf("%s would be in the wrong place", key)
		}
		added = added.entries[0].value
	}
	if added == nil || added.data != e.reads {
		return fmt.Errorf("the new value would be missing")
	}
	rest.style = old.style // may change: a new map, or a TOML table that gets a header
	return expected{}.differsShape(old, &rest, depth)
}
