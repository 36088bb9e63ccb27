// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode"
)

// number pushes an int or a float.
func (m *machine) number(op byte) error {
	switch op {
	case opBinInt1:
		b, err := m.take(1)
		if err == nil {
			m.push(vInt, uint64(b[0]))
		}
		return err
	case opBinInt2:
		b, err := m.take(2)
		if err == nil {
			m.push(vInt, uint64(binary.LittleEndian.Uint16(b)))
		}
		return err
	case opBinInt:
		b, err := m.take(4)
		if err == nil {
			m.push(vInt, uint64(int64(int32(binary.LittleEndian.Uint32(b)))))
		}
		return err
	case opBinFloat:
		b, err := m.take(8)
		if err == nil {
			m.push(vFloat, binary.BigEndian.Uint64(b))
		}
		return err
	default:
		return m.long()
	}
}

// long pushes LONG1: a length and that many little-endian bytes, signed. An unsigned 64-bit number such as an address
// needs nine bytes.
func (m *machine) long() error {
	b, err := m.take(1)
	if err != nil {
		return err
	}
	n := int(b[0])
	if b, err = m.take(n); err != nil {
		return err
	}
	if n > 9 || n == 9 && b[8] != 0 {
		return m.fail("an integer of %d bytes is more than any size or address", n)
	}
	var raw [8]byte
	copy(raw[:], b)
	x := binary.LittleEndian.Uint64(raw[:])
	if n > 0 && n < 8 {
		x = signed(x, n)
	}
	m.push(vInt, x)
	return nil
}

// signed sign-extends an n-byte number, 0 < n <= 8. Higher bytes of x are ignored.
func signed(x uint64, n int) uint64 {
	shift := uint(64 - 8*n)
	return uint64(int64(x<<shift) >> shift)
}

// text pushes a string.
func (m *machine) text(op byte) error {
	width := 1
	if op == opBinUnicode {
		width = 4
	}
	b, err := m.take(width)
	if err != nil {
		return err
	}
	n := int(b[0])
	if width == 4 {
		n = int(binary.LittleEndian.Uint32(b))
	}
	if n > maxText {
		return m.fail("a string of %d bytes is longer than any in a snapshot", n)
	}
	if b, err = m.take(n); err != nil {
		return err
	}
	m.push(vText, uint64(m.intern(b)))
	return nil
}

// intern returns a string's index; equal strings share one. Recordings repeat a few strings over and over, so the
// last one is compared first.
func (m *machine) intern(b []byte) uint32 {
	if len(m.texts) > 0 && m.texts[m.lastText] == string(b) {
		return m.lastText
	}
	id, ok := m.textIDs[string(b)]
	if !ok {
		id = uint32(len(m.texts))
		s := string(b)
		m.texts = append(m.texts, s)
		m.textIDs[s] = id
		m.fields = append(m.fields, fieldNames[s])
		m.actions = append(m.actions, actions[s])
	}
	m.lastText = id
	return id
}

// pairOf returns the index of a pair of numbers; equal pairs share one.
func (m *machine) pairOf(a, b value) uint32 {
	if len(m.tuples) > 0 {
		if t := m.tuples[m.lastPair]; len(t) == 2 && t[0] == a && t[1] == b {
			return m.lastPair
		}
	}
	key := [2]uint64{a.n, b.n}
	id, ok := m.pairIDs[key]
	if !ok {
		id = uint32(len(m.tuples))
		m.tuples = append(m.tuples, []value{a, b})
		m.pairIDs[key] = id
	}
	m.lastPair = id
	return id
}

// maxSize is more bytes than any machine has, and small enough that sums do not overflow.
const maxSize = math.MaxInt64 >> 3

// asSize returns v as a number of bytes, or an error if it is not a possible size.
func (m *machine) asSize(v value, what string) (uint64, error) {
	if v.kind != vInt || v.n > maxSize {
		return 0, m.fail("%s is %s, not a size", what, m.show(v))
	}
	return v.n, nil
}

// show formats v for a message.
func (m *machine) show(v value) string {
	switch v.kind {
	case vInt:
		return decimal(int64(v.n))
	case vText:
		return `"` + printable(m.texts[v.n]) + `"`
	default:
		return v.kind.String()
	}
}

// printable returns a string from a file, shortened and safe for a terminal.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
