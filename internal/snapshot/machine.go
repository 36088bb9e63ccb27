// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"io"
	"slices"
)

// The pickle machine. A pickle is a program for a stack machine: opcodes push values, MARK remembers a stack height,
// SETITEMS and APPENDS move the values above the mark into the container below it, and the memo names objects so that
// they can be pushed again. This machine has only the thirty-odd opcodes that a snapshot needs, and cannot call
// anything.
//
// A dict is recognized when it gets its items: one with the key "action" is a trace entry and becomes a row of 32
// bytes, and so on. Trace entries need no allocations of their own, and a memo slot is four bytes, so reading needs
// less memory than the file's size.
//
// A hostile file can do only limited harm: the stack, the memo and each table are limited in the number of objects
// per byte read (checkSize); nesting, numbers and strings have limits; and a string's length is trusted only as far
// as the bytes exist.
type machine struct {
	*window
	stack []value
	marks []int
	memo  []ref

	texts   []string
	textIDs map[string]uint32
	fields  []field // the meaning of each text as a key
	actions []action
	lists   []list
	tuples  [][]value
	pairIDs map[[2]uint64]uint32
	dicts   []dict
	items   []value  // the elements of lists of arbitrary values
	maps    [][]pair // dicts of arbitrary values

	entries     entryTable
	labels      []label // user_metadata, wherever it changes
	label       uint32  // the label of the entry being read
	blocks      []Block
	segments    []rawSegment
	annotations []Annotation
	frames      []Frame
	frameIDs    map[rawFrame]uint32
	stacks      stackTable
	streams     []uint64

	lastText, lastPair uint32
	mapped             int // number of pairs in maps
	keys               [maxKeys]keyShape
	shapes             map[string]uint32 // stack numbers, by the bytes of the pickled list (fast.go)
}

const (
	maxDepth = 64                  // limit on nesting; a snapshot has eight levels
	maxProto = 5                   // Python 3.8 and later
	maxKeys  = 12                  // most keys of a trace entry that fast.go reads
	maxPairs = 265 * (maxKeys + 1) // bytes of that many keys and values, without lists, plus lookahead
	ahead    = 8192                // lookahead bytes for every opcode, except in a long string: room for maxPairs and for lists

	looseStack = 1 << 19 // objects allowed before their number is compared with the bytes read
)

// firstOpcodes are the opcodes that may begin a pickle: PROTO, a container (before protocol 2), or a call, which
// refuse reports. If letters were allowed, plain text would look like a pickle.
var firstOpcodes = []byte{opProto, opMark, opEmptyDict, opEmptyList, opGlobal}

func newMachine(w *window) *machine {
	m := &machine{
		window:   w,
		textIDs:  map[string]uint32{},
		pairIDs:  map[[2]uint64]uint32{},
		frameIDs: map[rawFrame]uint32{},
		stacks:   newStackTable(),
		shapes:   map[string]uint32{},
		streams:  []uint64{0},
	}
	m.intern(nil)
	return m
}

// run executes the pickle and returns the value left at STOP.
func (m *machine) run() (value, error) {
	m.fill(1)
	if len(m.buf) > 0 && !slices.Contains(firstOpcodes, m.buf[0]) {
		return value{}, m.fail("not a pickle (it begins with %#02x)", m.buf[0])
	}
	for {
		if len(m.buf)-m.pos < ahead && m.err == nil {
			m.fill(windowSize / 2)
			if err := m.checkSize(); err != nil {
				return value{}, err
			}
		}
		if m.pos >= len(m.buf) {
			return value{}, m.short()
		}
		op := m.buf[m.pos]
		m.pos++
		if op == opEmptyDict && m.fastEntry() {
			continue
		}
		if op == opStop {
			return m.pop()
		}
		if err := m.step(op); err != nil {
			return value{}, err
		}
	}
}

// checkSize returns an error if there are too many objects for the bytes read.
func (m *machine) checkSize() error {
	limit := looseStack + int(m.offset()/4)
	switch {
	case len(m.stack) > limit, len(m.lists) > limit, len(m.tuples) > limit, m.mapped > limit:
		return m.fail("more objects than a snapshot of this size has")
	case len(m.memo) > 2*limit, len(m.dicts) > limit, len(m.texts) > limit, len(m.dicts) > refMax:
		return m.fail("more memo names than a snapshot of this size has")
	}
	return nil
}

func (m *machine) push(k kind, n uint64) { m.stack = append(m.stack, value{n, k}) }

func (m *machine) pop() (value, error) {
	if len(m.stack) == m.floor() {
		return value{}, m.fail("an opcode needs a value, but the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// floor returns the stack height at the innermost mark.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

// popMark returns the values above the innermost mark, valid until the next push.
func (m *machine) popMark() ([]value, error) {
	if len(m.marks) == 0 {
		return nil, m.fail("an opcode needs a mark, but there is none")
	}
	at := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	above := m.stack[at:]
	m.stack = m.stack[:at]
	return above, nil
}

// step executes one opcode.
func (m *machine) step(op byte) error {
	switch op {
	case opNone:
		m.push(vNone, 0)
	case opTrue:
		m.push(vBool, 1)
	case opFalse:
		m.push(vBool, 0)
	case opBinInt, opBinInt1, opBinInt2, opLong1, opBinFloat:
		return m.number(op)
	case opBinUnicode, opShortBinUnicode:
		return m.text(op)
	case opMark:
		if len(m.marks) >= maxDepth {
			return m.fail("nested more than %d deep", maxDepth)
		}
		m.marks = append(m.marks, len(m.stack))
	case opEmptyDict:
		m.push(vDict, uint64(len(m.dicts)))
		m.dicts = append(m.dicts, dict{})
	case opEmptyList:
		m.push(vList, uint64(len(m.lists)))
		m.lists = append(m.lists, list{})
	case opMemoize, opBinPut, opLongBinPut, opBinGet, opLongBinGet:
		return m.remember(op)
	case opSetItem, opSetItems, opAppend, opAppends:
		return m.extend(op)
	case opDict, opList, opTuple, opEmptyTuple, opTuple1, opTuple2, opTuple3:
		return m.collect(op)
	case opProto, opFrame:
		return m.header(op)
	default:
		return m.refuse(op)
	}
	return nil
}

// header checks PROTO and skips FRAME's length, which is not needed.
func (m *machine) header(op byte) error {
	if op == opFrame {
		_, err := m.take(8)
		return err
	}
	b, err := m.take(1)
	if err == nil && b[0] > maxProto {
		err = m.fail("unknown pickle protocol %d", b[0])
	}
	return err
}

// read runs the machine over a whole file.
func read(r io.Reader) (*machine, value, error) {
	w, err := newWindow(r)
	if err != nil {
		return nil, value{}, err
	}
	m := newMachine(w)
	root, err := m.run()
	if err == nil {
		err = m.drain()
	}
	return m, root, err
}
