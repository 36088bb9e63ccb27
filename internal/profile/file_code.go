// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"fmt"
)

// encoder writes the body of a file.
type encoder struct{ out []byte }

func (e *encoder) uint(v uint64) { e.out = binary.AppendUvarint(e.out, v) }
func (e *encoder) int(v int64)   { e.out = binary.AppendVarint(e.out, v) }

func (e *encoder) bytes(b []byte) {
	e.uint(uint64(len(b)))
	e.out = append(e.out, b...)
}

// decoder reads the body of a file. It keeps the first error; after it every value and count is zero, so
// that loops end.
type decoder struct {
	in  []byte
	err error

	termsRead     int // of the formulas that were read so far
	segmentBytes  int // of the segments
	segmentCommas int
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("the profile is damaged: "+format, args...)
	}
	d.in = nil
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail("it ends early")
		return 0
	}
	d.in = d.in[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.in)
	if n <= 0 {
		d.fail("it ends early")
		return 0
	}
	d.in = d.in[n:]
	return v
}

// below reads a number that indexes n things.
func (d *decoder) below(n int, what string) int {
	v := d.uint()
	if v >= uint64(n) {
		d.fail("%s %d of %d", what, v, n)
		return 0
	}
	return int(v)
}

// count reads how many things follow. Each takes at least a byte, so that a
// false count cannot ask for more memory than the file has bytes.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.in)) {
		d.fail("%d items in %d bytes", n, len(d.in))
		return 0
	}
	return int(n)
}

// atMost reads a count that may not exceed most.
func (d *decoder) atMost(most int, what string) int {
	n := d.count()
	if n > most {
		d.fail("%d %s, but at most %d are allowed", n, what, most)
		return 0
	}
	return n
}

// atMostTerms reads a count of parts of a formula. The total over all formulas is limited too.
func (d *decoder) atMostTerms(most int, what string) int {
	n := d.atMost(most, what)
	if d.termsRead += n; d.termsRead > maxAllTerms {
		d.fail("%d terms or more, but at most %d are allowed", d.termsRead, maxAllTerms)
		return 0
	}
	return n
}

func (d *decoder) bytes() []byte {
	n := d.count()
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}
