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

// decoder reads the body of a file. It keeps the first error; from then on every value and count is zero, so that
// loops end.
type decoder struct {
	in  []byte
	err error

	termsRead     int // terms in all formulas read so far
	segmentBytes  int // bytes of segments read so far
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

// below reads a number that must be less than n.
func (d *decoder) below(n int, what string) int {
	v := d.uint()
	if v >= uint64(n) {
		d.fail("%s is %d; it must be less than %d", what, v, n)
		return 0
	}
	return int(v)
}

// count reads the number of items that follow. Each takes at least a byte, so a false count cannot make the decoder
// allocate more than the size of the file.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.in)) {
		d.fail("%d items in %d bytes", n, len(d.in))
		return 0
	}
	return int(n)
}

// atMost reads a count and checks that it does not exceed most.
func (d *decoder) atMost(most int, what string) int {
	n := d.count()
	if n > most {
		d.fail("%d %s, but at most %d are allowed", n, what, most)
		return 0
	}
	return n
}

// atMostTerms reads the number of terms in a formula. The total over all formulas is limited too.
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
