// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charsMap is a SentencePiece table: a double array that maps the bytes of a text to an offset in a list of
// zero-terminated replacements.
type charsMap struct {
	units []uint32
	texts []byte
}

// precompiled reads a charsMap: the length of the array in bytes, the array, the replacements.
func precompiled(data []byte) (normalizer, error) {
	wrong := errors.New("its precompiled_charsmap is damaged")
	if len(data) < 4 {
		return nil, wrong
	}
	size := uint64(binary.LittleEndian.Uint32(data))
	if data = data[4:]; size > uint64(len(data)) || size < 4 || size%4 != 0 {
		return nil, wrong
	}
	m := &charsMap{units: make([]uint32, size/4), texts: data[size:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return normalizer{m.apply}, nil
}

// apply replaces what is in the table: a character together with its marks if they are shorter than six bytes,
// otherwise each of them separately.
func (m *charsMap) apply(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := cluster(text)
		if n < 6 && m.replace(&b, text[:n]) {
			text = text[n:]
			continue
		}
		for end := n; end > 0; {
			_, size := utf8.DecodeRuneInString(text)
			if !m.replace(&b, text[:size]) {
				b.WriteString(text[:size])
			}
			text, end = text[size:], end-size
		}
	}
	return b.String()
}

// replace writes the replacement for the shortest prefix of text that is in the table, and reports whether there is
// one.
func (m *charsMap) replace(b *strings.Builder, text string) bool {
	at, ok := m.find(text)
	if !ok || at > len(m.texts) {
		return false
	}
	to, _, _ := bytes.Cut(m.texts[at:], []byte{0})
	b.Write(to)
	return true
}

// find returns the value of the shortest prefix of text that is in the array; ok is false if there is none.
func (m *charsMap) find(text string) (value int, ok bool) {
	node := offset(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		node ^= c
		if c == 0 || node >= uint32(len(m.units)) {
			return 0, false
		}
		unit := m.units[node]
		if unit&(1<<31|0xFF) != c {
			return 0, false
		}
		node ^= offset(unit)
		if unit>>8&1 == 1 && node < uint32(len(m.units)) {
			return int(m.units[node] &^ (1 << 31)), true
		}
	}
	return 0, false
}

// offset returns the distance from a unit to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// cluster returns the length in bytes of the first character with its marks: a Unicode grapheme cluster, as far as
// apply needs it.
func cluster(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if r == '\r' && strings.HasPrefix(text[n:], "\n") {
		return n + 1
	}
	if r < 0x20 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && !joins(r) {
		return n
	}
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !unicode.Is(unicode.M, r) && !joins(r) {
			break
		}
		n += size
	}
	return n
}

// joins reports whether r is a zero-width joiner or non-joiner.
func joins(r rune) bool { return r == 0x200C || r == 0x200D }
