// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math/rand/v2"
	"slices"
)

// Stacks. Most trace entries have a list of frames, often thirty of them, yet a recording of a million entries has
// only a few hundred distinct lists. CPython's pickler writes each frame once and gives it a memo name, so that later
// lists are
//
//	EMPTY_LIST [MEMOIZE] MARK (GET frame)* APPENDS
//
// As long as names keep their meaning, equal bytes are equal stacks. So the fast path parses a list only the first
// time; later it looks up its bytes.

// stackTable numbers stacks. Equal stacks have the same number; the empty stack is 0.
type stackTable struct {
	refs   []uint32 // the frames of all stacks, one stack after the other
	stacks []list   // ranges of refs
	ids    map[uint64]uint32
	secret uint64 // prevents a file from choosing stacks with equal hashes
}

func newStackTable() stackTable {
	t := stackTable{ids: map[uint64]uint32{}, secret: rand.Uint64()}
	t.intern(0)
	return t
}

// intern returns a number for the stack of frames at refs[from:]. If an equal stack already has a number, it drops
// the frames and returns that number.
func (t *stackTable) intern(from int) uint32 {
	fresh := t.refs[from:]
	h := t.secret ^ uint64(len(fresh))
	for _, f := range fresh {
		h = (h ^ uint64(f)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for {
		id, ok := t.ids[h]
		if !ok {
			break
		}
		s := t.stacks[id]
		if slices.Equal(t.refs[s.start:s.start+s.n], fresh) {
			t.refs = t.refs[:from]
			return id
		}
		h++
	}
	id := uint32(len(t.stacks))
	t.ids[h] = id
	t.stacks = append(t.stacks, list{start: uint32(from), n: uint32(len(fresh))})
	return id
}

// all returns each stack's frames.
func (t *stackTable) all() [][]uint32 {
	out := make([][]uint32, len(t.stacks))
	for i, s := range t.stacks {
		out[i] = t.refs[s.start : s.start+s.n : s.start+s.n]
	}
	return out
}

// appendFrames makes l a list of frames, identified by its stack number.
func (m *machine) appendFrames(l *list, vs []value) error {
	t := &m.stacks
	from := len(t.refs)
	if l.n > 0 {
		old := t.stacks[l.start]
		t.refs = append(t.refs, t.refs[old.start:old.start+old.n]...)
	}
	for _, v := range vs {
		c, row := m.rowOf(v)
		if c != aFrame {
			return m.fail("a stack contains %v that is not a frame", v.kind)
		}
		t.refs = append(t.refs, row)
	}
	if m.tooManyFrames() {
		return m.fail("more frames than a snapshot of this size has")
	}
	l.n += uint32(len(vs))
	l.start = t.intern(from)
	return nil
}

// tooManyFrames reports whether the stacks have too many frames for the bytes read.
func (m *machine) tooManyFrames() bool {
	return len(m.stacks.refs) > looseStack+int(m.offset()/2) || len(m.stacks.stacks) > refMax
}

// stackOf returns the stack number of v, a list of frames.
func (m *machine) stackOf(v value) (uint32, error) {
	if v.kind == vStack {
		return uint32(v.n), nil
	}
	if v.kind != vList {
		return 0, m.fail("the frames are %v", v.kind)
	}
	l := m.lists[v.n]
	switch {
	case l.n == 0:
		return 0, nil
	case l.class != aFrame:
		return 0, m.fail("the list of frames contains something other than frames")
	}
	return l.start, nil
}

// maxShapes is larger than the number of distinct stacks in training code. If a file has more, the machine forgets
// them and starts over.
const maxShapes = 1 << 12

// scanStack reads a list of memoized frames and returns its length; 0 if it contains anything else.
func (m *machine) scanStack(b []byte) (value, int) {
	p := 1
	if b[p] == opMemoize {
		p++
	}
	n := itemsLen(b[p:])
	stack := uint32(0)
	if n > 0 {
		text, ok := b[p:p+n], false
		if stack, ok = m.shapes[string(text)]; !ok {
			if stack, ok = m.learnStack(text); !ok {
				return value{}, 0
			}
		}
	}
	if p == 2 {
		m.name(refTo(vStack, int(stack)))
	}
	return value{uint64(stack), vStack}, p + n
}

// itemsLen returns the length of the opcodes that put named objects into a list: MARK GET… APPENDS, or GET APPEND. It
// is 0 if b begins with anything else, or if the end is not within b. If a list does have other items, no key follows
// it and scanEntry rejects the entry.
func itemsLen(b []byte) int {
	if b[0] != opMark {
		if n := getLen(b[0]); n > 0 && b[n] == opAppend {
			return n + 1
		}
		return 0
	}
	for p := 1; p < len(b); {
		n := getLen(b[p])
		if n == 0 {
			if b[p] == opAppends {
				return p + 1
			}
			return 0
		}
		p += n
	}
	return 0
}

// getLen returns the length of an opcode that reads the memo, 0 for any other.
func getLen(op byte) int {
	switch op {
	case opBinGet:
		return 2
	case opLongBinGet:
		return 5
	}
	return 0
}

// learnStack returns the number of the stack encoded in text, and remembers it; false if text contains anything but
// frames.
func (m *machine) learnStack(text []byte) (uint32, bool) {
	from := len(m.stacks.refs)
	ok := m.scanFrames(text)
	if !ok || m.tooManyFrames() {
		m.stacks.refs = m.stacks.refs[:from]
		return 0, false
	}
	if len(m.shapes) == maxShapes {
		clear(m.shapes)
	}
	stack := m.stacks.intern(from)
	m.shapes[string(text)] = stack
	return stack, true
}

// scanFrames appends the frames of a list to refs. It returns false if the list contains anything else.
func (m *machine) scanFrames(text []byte) bool {
	for p := 0; p < len(text)-1; {
		if text[p] == opMark {
			p++
			continue
		}
		v, n := m.scanRef(text[p:])
		c, row := m.rowOf(v)
		if n == 0 || c != aFrame {
			return false
		}
		m.stacks.refs = append(m.stacks.refs, row)
		p += n
	}
	return true
}

// forgetShapes forgets the encoded stacks. It is called when a memo name is redefined or its frame changes.
func (m *machine) forgetShapes() {
	clear(m.keys[:])
	if len(m.shapes) > 0 {
		m.shapes = map[string]uint32{}
	}
}
