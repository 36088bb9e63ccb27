// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// longest is the maximum length of a line in bytes. A sample of a card with a thousand processes needs a tenth of it.
const longest = 1 << 20

// Reader reads a recording line by line. It ignores an incomplete last line, which occurs if the writing process was
// killed.
type Reader struct {
	in      *bufio.Scanner
	lines   int
	events  int
	unknown map[Kind]int
	cut     bool
}

// NewReader returns a reader. It decompresses gzipped recordings.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 1<<12), longest)
	return &Reader{in: s, unknown: map[Kind]int{}}, nil
}

// Next returns the next event, or io.EOF after the last one. Its error for an unreadable line gives the line number.
func (r *Reader) Next() (Event, error) {
	for r.in.Scan() {
		r.lines++
		text := bytes.TrimSpace(r.in.Bytes())
		if len(text) == 0 {
			continue
		}
		var e Event
		err := json.Unmarshal(text, &e)
		if err == nil {
			r.events++
			return e, nil
		}
		if errors.Is(err, errKind) {
			r.unknown[e.Kind]++
			continue
		}
		if !r.in.Scan() && r.events > 0 && !json.Valid(text) {
			r.cut = true
			break
		}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			err = fmt.Errorf("%q cannot be a %s", wrong.Field, wrong.Value)
		}
		return Event{}, fmt.Errorf("line %d: %w", r.lines, err)
	}
	switch err := r.in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Event{}, fmt.Errorf("line %d is longer than %d bytes, so this is not a recording of snug watch", r.lines+1, longest)
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.cut = true
	case err != nil:
		return Event{}, err
	}
	if r.events == 0 {
		return Event{}, errors.New("it contains no events; a recording has one JSON object per line")
	}
	return Event{}, io.EOF
}

// Notes returns notes for the user about what the reader skipped.
func (r *Reader) Notes() []string {
	var out []string
	for kind, n := range r.unknown {
		out = append(out, fmt.Sprintf("%d lines of unknown kind %q were skipped; a newer snug may have written them", n, kind))
	}
	if r.cut {
		out = append(out, fmt.Sprintf("the recording stops in the middle of line %d; everything before it was read", r.lines))
	}
	return out
}
