// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io"

	"snug/internal/units"
)

// TooLargeError means that a file is larger than the limit for its kind.
type TooLargeError struct {
	Most int64 // the limit, in bytes
}

// Error names the limit.
func (e TooLargeError) Error() string {
	return "larger than " + whole(e.Most) + ", the most that snug reads; is it the right file?"
}

// whole formats a limit, which is usually a whole number of MiB.
func whole(n int64) string {
	switch {
	case n%units.MiB == 0:
		return fmt.Sprintf("%d MiB", n/units.MiB)
	case n%units.KiB == 0:
		return fmt.Sprintf("%d KiB", n/units.KiB)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Limit returns a reader that fails with a TooLargeError after most bytes. It is for files that are parsed
// while they are read.
func Limit(r io.Reader, most int64) io.Reader { return &limited{r, most, most} }

type limited struct {
	r          io.Reader
	left, most int64
}

// Read requests one byte more than is allowed, so that a file of exactly the limit is still read to its end.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, TooLargeError{l.most}
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, TooLargeError{l.most}
	}
	return n, err
}
