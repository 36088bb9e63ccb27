// SPDX-License-Identifier: Apache-2.0

package snapshot

import "encoding/binary"

// The fast path reads a trace entry of the usual shape,
//
//	EMPTY_DICT [MEMOIZE] MARK (GET key, number | GET text | new text [MEMOIZE])* SETITEMS
//
// without the stack, five times as fast as opcode by opcode. It leaves anything unexpected to the machine, which also
// reports the errors. It looks ahead in the window without loading more, so it needs `ahead` bytes there, and the
// last few entries of a file are read the slow way.

// fastEntry tries the fast path after an EMPTY_DICT, and reports whether it succeeded.
func (m *machine) fastEntry() bool {
	if m.entries.n == 0 || len(m.buf)-m.pos < ahead || m.entries.n > refMax {
		return false
	}
	named := len(m.memo)
	m.label = 0
	e := m.entries.peek()
	n := m.scanEntry(m.buf[m.pos:m.pos+ahead], e)
	if n == 0 || e.action == noAction {
		*e = entry{}
		m.memo = m.memo[:named]
		clear(m.keys[:]) // the memo slots after named are reused for other objects, and keys may refer to them
		return false
	}
	m.pos += n
	m.push(vEntry, uint64(m.entries.n))
	m.keepLabel(uint32(m.entries.n))
	m.entries.n++
	return true
}

// scanEntry fills e and returns the number of bytes it read, or 0 if the shape is not the usual one. Most of the
// reading time is spent here, so numbers are read inline.
func (m *machine) scanEntry(b []byte, e *entry) int { //nolint:funlen // see above
	p := 0
	if b[p] == opMemoize {
		m.name(refTo(vEntry, m.entries.n))
		p++
	}
	if b[p] != opMark {
		return 0
	}
	p++
	for i := range m.keys {
		if b[p] == opSetItems {
			return p + 1
		}
		k := &m.keys[i]
		if k.idle.matches(b[p : p+16]) {
			if k.idle.named {
				m.name(k.idle.name)
			}
			p += k.idle.n
			continue
		}
		from := p
		if binary.LittleEndian.Uint64(b[p:])&k.mask != k.bits || k.n == 0 {
			if !m.learnKey(k, b[p:]) {
				return 0
			}
		}
		p += k.n
		var v value
		switch head := binary.LittleEndian.Uint64(b[p:]); byte(head) {
		case opLong1:
			n := int(b[p+1])
			if n == 0 || n > 8 {
				return 0
			}
			v = value{signed(binary.LittleEndian.Uint64(b[p+2:]), n), vInt}
			p += n + 2
		case opBinInt:
			v = value{uint64(int64(int32(head >> 8))), vInt}
			p += 5
		case opBinInt2:
			v = value{head >> 8 & 0xffff, vInt}
			p += 3
		case opEmptyList:
			n := 0
			if v, n = m.scanStack(b[p:]); n == 0 || p+n > ahead-maxPairs {
				return 0
			}
			p += n
		default:
			n := 0
			if v, n = m.scanOther(b[p:]); n == 0 {
				return 0
			}
			p += n
			m.learnIdle(k, v, b[from:p])
		}
		if !m.fillField(e, k.field, v) {
			return 0
		}
	}
	return 0
}

// fillField sets one field, the frequent ones directly, and reports whether the value was valid.
func (m *machine) fillField(e *entry, f field, v value) bool {
	if v.kind == vInt {
		switch f {
		case fAddr:
			e.addr = v.n
			return true
		case fTime:
			e.time = int64(v.n)
			return true
		case fSize:
			if v.n <= maxSize {
				e.size = v.n
				return true
			}
		case fStream:
			if v.n == 0 {
				return true
			}
		}
	}
	return f == noField || m.setEntryField(e, f, v) == nil
}

// scanOther reads a small number, a string, a reference or a pair of small numbers and returns its length.
func (m *machine) scanOther(b []byte) (value, int) {
	switch b[0] {
	case opBinGet, opLongBinGet:
		return m.scanRef(b)
	case opShortBinUnicode:
		end := int(b[1]) + 2
		id := m.intern(b[2:end])
		if b[end] == opMemoize {
			m.name(refTo(vText, int(id)))
			end++
		}
		return value{uint64(id), vText}, end
	case opBinInt1:
		if b[2] != opBinInt1 {
			return value{uint64(b[1]), vInt}, 2
		}
		if b[4] == opTuple2 {
			return m.scanPair(b)
		}
	}
	return value{}, 0
}

// scanRef reads BINGET or LONG_BINGET and returns its length, 0 if it is neither.
func (m *machine) scanRef(b []byte) (value, int) {
	slot, n := uint(b[1]), 2
	if b[0] == opLongBinGet {
		slot, n = uint(binary.LittleEndian.Uint32(b[1:])), 5
	} else if b[0] != opBinGet {
		return value{}, 0
	}
	if slot >= uint(len(m.memo)) {
		return value{}, 0
	}
	return m.memo[slot].value(), n
}

// scanPair reads a tuple of two small numbers and returns its length.
func (m *machine) scanPair(b []byte) (value, int) {
	id := m.pairOf(value{uint64(b[1]), vInt}, value{uint64(b[3]), vInt})
	if b[5] != opMemoize {
		return value{uint64(id), vTuple}, 5
	}
	m.name(refTo(vTuple, int(id)))
	return value{uint64(id), vTuple}, 6
}
