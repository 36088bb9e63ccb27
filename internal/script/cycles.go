// SPDX-License-Identifier: Apache-2.0

package script

// Lists and dicts may hold each other. One that contains itself would be walked forever, so a script that makes one is
// not followed. One list may be in another twice, and that in a third twice: sixty lines make a tree of more items than
// any walk ends on, so a walk enters each container once.

// puts checks a value before it is put into a container.
func (in *interpreter) puts(v, into value) {
	switch into.(type) {
	case *list, *dict:
	default:
		return // what is not known may be equal to something else that is not
	}
	once := visited{steps: in.searched}
	found := once.inside(v, func(x value) bool {
		if once.steps > maxSearched {
			in.fail("following the script took too many searches of lists and dicts; name its loop instead: --loop script")
		}
		return x == into
	})
	in.searched = once.steps
	if found {
		in.fail("a list or dict that contains itself is not followed; name the loop instead: --loop script")
	}
}

// visited holds the containers that a walk has entered.
type visited struct {
	entered map[value]bool
	steps   int // values seen
}

// inside reports whether is holds for v or for a value inside it; lists and dicts are entered once each.
func (w *visited) inside(v value, is func(x value) bool) bool {
	var items []value
	w.steps++
	switch c := v.(type) {
	case *list:
		items = c.items
	case *dict:
		items = c.vals
	default:
		return is(v)
	}
	if w.entered[v] {
		return false
	}
	if is(v) {
		return true
	}
	if w.entered == nil {
		w.entered = map[value]bool{}
	}
	w.entered[v] = true
	for _, x := range items {
		if w.inside(x, is) {
			return true
		}
	}
	return false
}
