// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"slices"
	"strings"
)

// maxText limits the length of a text, because a script may double one again and again.
const maxText = 1 << 16

// added returns the text of name+=value.
func (r *runner) added(old *variable, value Word) ([]Piece, []int) {
	if old == nil {
		return value.Pieces, value.From
	}
	out := slices.Concat(old.scalar(), value.Pieces)
	size := 0
	for _, p := range out {
		size += len(p.Text)
	}
	if size > maxText || !r.spend(len(out)/4) {
		return unknown("its text is too long"), nil
	}
	return out, mergedFrom(old.from, append([]int{old.definition}, value.From...))
}

// assignList follows name=(…) and name+=(…).
func (r *runner) assignList(v, old *variable, a assignment) {
	v.isList = true
	if a.adds && old != nil {
		v.elements, v.keys, v.open, v.from = slices.Clone(old.elements), slices.Clone(old.keys), old.open, mergedFrom(old.from, []int{old.definition})
		if v.open != "" {
			v.elements, v.open = append(v.elements, Word{Pieces: manyWords(unknown(v.open)), Start: -1, End: -1}), ""
		}
		if !old.isList && len(old.pieces) > 0 {
			v.elements = []Word{{Pieces: manyWords(old.pieces), Start: -1, End: -1}}
		}
		if !r.spend(len(v.elements) / 4) {
			v.elements, v.keys, v.open = nil, nil, "it has too many elements"
		}
	}
	for _, w := range a.array {
		if key, value, ok := r.keyed(w); ok {
			v.keys = append(v.keys, key)
			v.elements = append(v.elements, value)
			continue
		}
		v.elements = append(v.elements, r.words([]word{w})...)
	}
}

// keyed reads an element [key]=value.
func (r *runner) keyed(w word) (key string, value Word, ok bool) {
	raw := w.raw
	if !strings.HasPrefix(raw, "[") {
		return "", value, false
	}
	key, rest, found := strings.Cut(raw[1:], "]=")
	if !found {
		return "", value, false
	}
	at := len(raw) - len(rest)
	all := r.one(w)
	if len(all.Known()) < at {
		return "", value, false
	}
	value = all.Cut(len("[" + strings.Trim(key, `"'`) + "]="))
	return strings.Trim(key, `"'`), value, true
}

// withElement follows name[index]=value.
func (r *runner) withElement(old *variable, a assignment, value Word) *variable {
	v := &variable{isList: true, definition: a.start}
	if old != nil {
		v.elements, v.keys, v.open = slices.Clone(old.elements), slices.Clone(old.keys), old.open
		if !r.spend(len(v.elements) / 4) {
			return &variable{isList: true, definition: a.start, open: "it has too many elements"}
		}
	}
	key, known := textOf(r.joined(a.index.parts))
	i, why := r.number(key)
	row := why == "" && v.keys == nil
	switch {
	case !known || manyWhy(v.elements) != "" || v.keys == nil && why != "" && nameEnd(key) == len(key) && len(v.elements) > 0:
		v.open = "one of its elements is set at an index that is not known"
	case row && i >= 0 && i < int64(len(v.elements)):
		v.elements[i] = value
	case row && i == int64(len(v.elements)):
		v.elements = append(v.elements, value)
	case slices.Contains(v.keys, key):
		v.elements[slices.Index(v.keys, key)] = value
	case len(v.keys) == len(v.elements):
		v.keys, v.elements = append(v.keys, key), append(v.elements, value)
	default:
		v.open = "its elements are not consecutive"
	}
	return v
}

// withFirst follows name+=value for a list, which changes its first element.
func (r *runner) withFirst(old *variable, value Word) *variable {
	v := *old
	v.elements = slices.Clone(old.elements)
	if len(v.elements) == 0 {
		v.elements = []Word{value}
		return &v
	}
	first := v.elements[0]
	first.Pieces = slices.Concat(first.Pieces, value.Pieces)
	first.Start, first.Variable = -1, ""
	v.elements[0] = first
	return &v
}

// mergedFrom returns the union of two lists of assignments.
func mergedFrom(a, b []int) []int {
	if len(a)+len(b) > 32 {
		a, b = a[:min(len(a), 16)], b[:min(len(b), 16)]
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(at int) bool { return at < 0 })
}
