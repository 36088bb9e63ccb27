// SPDX-License-Identifier: Apache-2.0

package snapshot

import "slices"

// extend executes the opcodes that add to a container: it moves the top value, or all values above the mark, into the
// dict or list below.
func (m *machine) extend(op byte) error {
	var above []value
	var err error
	switch op {
	case opSetItems, opAppends:
		above, err = m.popMark()
	default:
		n := 1
		if op == opSetItem {
			n = 2
		}
		above, err = m.popN(n)
	}
	if err != nil {
		return err
	}
	if len(m.stack) == m.floor() {
		return m.fail("items without a container")
	}
	into := m.stack[len(m.stack)-1]
	isDict := op == opSetItem || op == opSetItems
	switch {
	case isDict && into.kind == vDict:
		return m.setItems(&m.dicts[into.n], above)
	case !isDict && into.kind == vList:
		return m.appendTo(&m.lists[into.n], above)
	}
	return m.fail("items are added to %v", into.kind)
}

// popN returns the top n values, valid until the next push.
func (m *machine) popN(n int) ([]value, error) {
	at := len(m.stack) - n
	if at < m.floor() {
		return nil, m.fail("an opcode needs a value, but the stack is empty")
	}
	above := m.stack[at:]
	m.stack = m.stack[:at]
	return above, nil
}

// collect executes the opcodes that create a dict, list or tuple from values on the stack.
func (m *machine) collect(op byte) error {
	var above []value
	var err error
	switch op {
	case opEmptyTuple:
	case opTuple1:
		above, err = m.popN(1)
	case opTuple2:
		above, err = m.popN(2)
	case opTuple3:
		above, err = m.popN(3)
	default:
		above, err = m.popMark()
	}
	if err != nil {
		return err
	}
	switch op {
	case opDict:
		d := dict{}
		err = m.setItems(&d, above)
		m.push(vDict, uint64(len(m.dicts)))
		m.dicts = append(m.dicts, d)
	case opList:
		l := list{}
		err = m.appendTo(&l, above)
		m.push(vList, uint64(len(m.lists)))
		m.lists = append(m.lists, l)
	default:
		m.tuple(above)
	}
	return err
}

func (m *machine) tuple(vs []value) {
	if len(vs) == 2 && vs[0].kind == vInt && vs[1].kind == vInt {
		m.push(vTuple, uint64(m.pairOf(vs[0], vs[1])))
		return
	}
	m.tuples = append(m.tuples, slices.Clone(vs))
	m.push(vTuple, uint64(len(m.tuples)-1))
}

// appendTo appends values to a list. The first one decides the type of its elements.
func (m *machine) appendTo(l *list, vs []value) error {
	if len(vs) == 0 {
		return nil
	}
	c, _ := m.rowOf(vs[0])
	if l.n > 0 && l.class != c {
		return m.fail("a list mixes values of different kinds")
	}
	l.class = c
	switch c {
	case aFrame:
		return m.appendFrames(l, vs)
	case aText: // forward_frames, one unused list per entry
		l.n += uint32(len(vs))
		return nil
	case anything:
		return m.appendValues(l, vs)
	}
	return m.appendRows(l, vs)
}

// rowOf returns a value's record class and its row.
func (m *machine) rowOf(v value) (class, uint32) {
	switch v.kind {
	case vEntry:
		return anEntry, uint32(v.n)
	case vDict:
		return m.dicts[v.n].class, m.dicts[v.n].row
	case vText:
		return aText, 0
	}
	return anything, 0
}

// appendRows extends a range of a table; the rows must be consecutive.
func (m *machine) appendRows(l *list, vs []value) error {
	for _, v := range vs {
		c, row := m.rowOf(v)
		if l.n == 0 {
			l.start = row
		}
		if c != l.class || row != l.start+l.n {
			return m.fail("a list contains the same record twice, or out of order")
		}
		l.n++
	}
	return nil
}

// appendValues appends to a list of arbitrary values, moving the list to the end of the table first if needed.
func (m *machine) appendValues(l *list, vs []value) error {
	if int(l.start+l.n) != len(m.items) {
		old := m.items[l.start : l.start+l.n]
		l.start = uint32(len(m.items))
		m.items = append(m.items, old...)
	}
	m.items = append(m.items, vs...)
	l.n += uint32(len(vs))
	if len(m.items) > looseStack+int(m.offset()/4) {
		return m.fail("more list items than a snapshot of this size has")
	}
	return nil
}
