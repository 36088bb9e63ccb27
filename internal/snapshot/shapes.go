// SPDX-License-Identifier: Apache-2.0

package snapshot

import "encoding/binary"

// keyShape is the key at the same position of the last entry: the bytes of its GET opcode, and their meaning. All
// entries of a recording look alike, so the next entry's bytes are nearly always the same.
type keyShape struct {
	bits, mask uint64
	n          int
	field      field
	idle       idlePair
}

// idlePair is a key and value that change nothing in an entry (stream 0, no metadata, an unused key), as up to
// sixteen bytes: three fields in seven are skipped by comparing these bytes.
type idlePair struct {
	bits, mask [2]uint64
	n          int
	name       ref // the object that its MEMOIZE names
	named      bool
}

func (q *idlePair) matches(b []byte) bool {
	return q.n > 0 &&
		binary.LittleEndian.Uint64(b)&q.mask[0] == q.bits[0] &&
		binary.LittleEndian.Uint64(b[8:])&q.mask[1] == q.bits[1]
}

// learnKey sets k to the key at the start of b, and returns false if there is none.
func (m *machine) learnKey(k *keyShape, b []byte) bool {
	key, n := m.scanRef(b)
	if n == 0 || key.kind != vText {
		return false
	}
	mask := uint64(1)<<(8*n) - 1
	*k = keyShape{bits: binary.LittleEndian.Uint64(b) & mask, mask: mask, n: n, field: m.fields[key.n]}
	return true
}

// learnIdle remembers the key and value encoded in b if they change nothing in an entry.
func (m *machine) learnIdle(k *keyShape, v value, b []byte) {
	if len(b) > 16 || !m.changesNothing(k.field, v) {
		return
	}
	q := &k.idle
	*q = idlePair{n: len(b), named: endsInMemoize(b[k.n:])}
	if q.named {
		q.name = refTo(v.kind, int(v.n))
	}
	for i, c := range b {
		q.bits[i/8] |= uint64(c) << (i % 8 * 8)
		q.mask[i/8] |= 0xff << (i % 8 * 8)
	}
}

func (m *machine) changesNothing(f field, v value) bool {
	switch f {
	case noField:
		return true
	case fStream:
		return v == value{0, vInt}
	case fMetadata:
		return v == value{0, vText}
	case fPoolID:
		return m.poolOf(v) == [2]int64{}
	}
	return false
}

// endsInMemoize reports whether a value that scanOther read ends with a MEMOIZE.
func endsInMemoize(b []byte) bool {
	switch b[0] {
	case opShortBinUnicode:
		return len(b) == int(b[1])+3
	case opBinInt1:
		return len(b) == 6
	}
	return false
}
