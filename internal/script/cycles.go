// SPDX-License-Identifier: Apache-2.0

package script

// Lists and dicts may contain each other. Walking one that contains itself would never end, so a script that
// makes one is not followed. Nesting can also double the number of paths at each level, so that sixty lines make a
// tree too large to walk. So a walk enters each container only once.

// puts checks a value before it is put into a container.
func (in *interpreter) puts(v, into value) {
	switch into.(type) {
	case *list, *dict:
	default:
		return // unknown values compare as equal, so they cannot be searched for
	}
	once := visited{steps: in.searched}
	found := once.inside(v, func(x value) bool {
		if once.steps > maxSearched {
			in.tooLong("following the script requires too many searches of lists and dicts; use a built-in loop instead, such as --loop script")
		}
		return x == into
	})
	in.searched = once.steps
	if found {
		in.fail("a list or dict that contains itself is not followed; name the loop instead: --loop script")
	}
}

// visited records the containers that a walk has entered.
type visited struct {
	entered map[value]bool
	steps   int // number of values seen
}

// inside reports whether is returns true for v or a value inside it. Each list and dict is entered once.
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
