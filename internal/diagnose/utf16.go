// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bufio"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// inUTF8 returns a reader of the same text in UTF-8. PowerShell redirects output as UTF-16, with a byte order mark.
func inUTF8(in *bufio.Reader) io.Reader {
	mark, _ := in.Peek(2)
	if len(mark) < 2 {
		return in
	}
	switch {
	case mark[0] == 0xff && mark[1] == 0xfe:
		return &utf16Reader{in: in, high: 1}
	case mark[0] == 0xfe && mark[1] == 0xff:
		return &utf16Reader{in: in, high: 0}
	}
	return in
}

// utf16Reader converts UTF-16 to UTF-8.
type utf16Reader struct {
	in   *bufio.Reader
	high int // which byte of a pair is the high one
	held []byte
}

// Read returns some bytes of the text.
func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.held) == 0 {
		c, err := r.unit()
		if err != nil {
			return 0, err
		}
		if utf16.IsSurrogate(c) {
			next, err := r.unit()
			if err != nil {
				return 0, err
			}
			c = utf16.DecodeRune(c, next)
		}
		if c != '\ufeff' {
			r.held = utf8.AppendRune(r.held[:0], c)
		}
	}
	n := copy(p, r.held)
	r.held = r.held[n:]
	return n, nil
}

// unit returns the next two bytes; half a unit at the end counts as the end.
func (r *utf16Reader) unit() (rune, error) {
	var pair [2]byte
	if _, err := io.ReadFull(r.in, pair[:]); err != nil {
		return 0, io.EOF
	}
	return rune(pair[r.high])<<8 | rune(pair[1-r.high]), nil
}
