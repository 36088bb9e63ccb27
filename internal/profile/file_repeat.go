// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Steps of a recording are alike, and so are recordings at two sizes, but they are megabytes apart and deflate looks
// back only 32 KiB. So long repetitions are removed first. The result is a sequence of
//
//	length, bytes       literal bytes
//	length, distance    a copy of bytes at that distance back
//
// that ends with a length of 0 in place of a repetition.

// repeatMin is the length of the shortest repetition. Positions are recorded at this interval, so a repetition of
// twice the length is always found.
const repeatMin = 64

// withoutRepeats encodes body without its long repetitions.
func withoutRepeats(body []byte) []byte {
	e := &encoder{}
	seen := map[uint64]int{} // hash of repeatMin bytes → where they last began
	from := 0                // start of the part not yet written
	for at := 0; at+repeatMin <= len(body); {
		hash := hashOf(body[at:])
		was, ok := seen[hash]
		if at%repeatMin == 0 {
			seen[hash] = at
		}
		if !ok || !bytes.Equal(body[was:was+repeatMin], body[at:at+repeatMin]) {
			at++
			continue
		}
		begin, end := at, at+repeatMin
		for begin > from && was > 0 && body[begin-1] == body[was-1] {
			begin, was = begin-1, was-1
		}
		back := begin - was
		for end < len(body) && body[end] == body[end-back] {
			end++
		}
		e.bytes(body[from:begin])
		e.uint(uint64(end - begin))
		e.uint(uint64(back))
		for next := (at/repeatMin + 1) * repeatMin; next+repeatMin <= end; next += repeatMin {
			seen[hashOf(body[next:])] = next
		}
		from, at = end, end
	}
	e.bytes(body[from:])
	e.uint(0)
	return e.out
}

// withAllRepeats encodes body in the same form, but removes nothing.
func withAllRepeats(body []byte) []byte {
	e := &encoder{}
	e.bytes(body)
	e.uint(0)
	return e.out
}

// hashOf hashes the first repeatMin bytes.
func hashOf(b []byte) uint64 {
	hash := uint64(0)
	for i := 0; i < repeatMin; i += 8 {
		hash = (hash ^ binary.LittleEndian.Uint64(b[i:])) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	return hash
}

// withRepeats returns the body with its repetitions restored. It refuses a result of more than limit bytes before
// allocating it.
func withRepeats(in []byte, limit int) ([]byte, error) {
	n, err := withRepeatsLength(in, limit)
	if err != nil {
		return nil, err
	}
	d := &decoder{in: in}
	out := make([]byte, 0, n)
	for {
		out = append(out, d.bytes()...)
		length := d.uint()
		if length == 0 {
			return out, nil
		}
		back := d.uint()
		for from := len(out) - int(back); length > 0; { // the copy may overlap its source
			n := min(int(length), len(out)-from)
			out = append(out, out[from:from+n]...)
			length -= uint64(n)
		}
	}
}

// withRepeatsLength returns the length of the data with its repetitions restored.
func withRepeatsLength(in []byte, most int) (int, error) {
	d := &decoder{in: in}
	n := uint64(0)
	for {
		n += uint64(len(d.bytes()))
		length := d.uint()
		switch {
		case d.err != nil:
			return 0, d.err
		case n > uint64(most) || length > uint64(most)-n:
			return 0, fmt.Errorf("the profile is damaged: it expands to more than %d bytes", most)
		case length == 0:
			return int(n), nil
		}
		if back := d.uint(); d.err == nil && (back == 0 || back > n) {
			return 0, errors.New("the profile is damaged: a repetition refers to missing data")
		}
		n += length
	}
}
