// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

const (
	windowSize = 256 << 10

	// Compressed recordings expand ten- to twentyfold. A large file that expands by more than maxRatio was made to
	// fill the memory.
	maxRatio  = 200
	ratioFrom = 64 << 20

	maxText = 64 << 20 // limit on the bytes in one string
)

// syntaxError is an error in the file, at a byte of the (decompressed) pickle.
type syntaxError struct {
	at   int64
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.what) }

// window is a sliding buffer over a file.
type window struct {
	src    io.Reader
	buf    []byte // bytes that were read and are still in the window
	pos    int    // index of the next byte in buf
	base   int64  // the file offset of buf[0]
	err    error  // why reading src stopped
	packed *counter
}

// counter counts the bytes that the decompressor reads.
type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// newWindow returns a window over r, decompressed if it begins with gzip's magic number.
func newWindow(r io.Reader) (*window, error) {
	w := &window{buf: make([]byte, 0, windowSize)}
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(2)
	switch {
	case len(head) == 0 && err == io.EOF:
		return nil, errors.New("the file is empty")
	case len(head) == 0:
		return nil, err
	case len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b:
		w.packed = &counter{r: in}
		z, err := gzip.NewReader(w.packed)
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		w.src = z
	default:
		w.src = in
	}
	return w, nil
}

func (w *window) offset() int64 { return w.base + int64(w.pos) }

func (w *window) fail(format string, args ...any) error {
	return &syntaxError{w.offset(), fmt.Sprintf(format, args...)}
}

// fill moves the window so that it contains the next n bytes, if the file has them.
func (w *window) fill(n int) {
	left := copy(w.buf, w.buf[w.pos:])
	w.base += int64(w.pos)
	w.pos, w.buf = 0, w.buf[:left]
	for len(w.buf) < n && w.err == nil {
		if len(w.buf) == cap(w.buf) { // happens only for strings longer than the window
			w.buf = append(w.buf, 0)[:len(w.buf)]
		}
		var k int
		k, w.err = w.src.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+k]
		if w.packed != nil && w.base > ratioFrom && w.base/maxRatio > w.packed.n {
			w.err = fmt.Errorf("expands more than %d-fold: not a recording", maxRatio)
		}
	}
}

// take returns the next n bytes, valid until the next call.
func (w *window) take(n int) ([]byte, error) {
	if len(w.buf)-w.pos < n {
		if w.fill(n); len(w.buf) < n {
			return nil, w.short()
		}
	}
	b := w.buf[w.pos : w.pos+n]
	w.pos += n
	return b, nil
}

// short returns the error for a file that ends too early.
func (w *window) short() error {
	w.pos = len(w.buf)
	switch {
	case errors.Is(w.err, io.EOF):
		return w.fail("the file ends in the middle: truncated")
	case errors.Is(w.err, io.ErrUnexpectedEOF):
		return w.fail("the compressed data ends in the middle: truncated")
	case w.packed != nil:
		return w.fail("decompressing: %v", w.err)
	default:
		return w.fail("%v", w.err)
	}
}

// drain reads the rest of the file after the pickle, so that gzip verifies its checksum.
func (w *window) drain() error {
	if w.packed == nil {
		return nil
	}
	for w.err == nil {
		w.pos = len(w.buf)
		w.fill(1)
	}
	if !errors.Is(w.err, io.EOF) {
		return w.short()
	}
	return nil
}
