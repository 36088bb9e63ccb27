// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"snug/internal/files"
)

// A file of setups has one of three formats, recognized by how its lines begin: JSON Lines, with one object per line;
// one JSON object over several lines; or YAML, with one document per setup.

// Raw is one setup as written in a file, parsed but not checked. Numbers are float64 in every format.
type Raw struct {
	Fields map[string]any // as written, by field name
	Line   int            // the line where it begins
	Lines  map[string]int // the lines of its fields in YAML, by name: batch, model.name
	Err    error          // why it could not be decoded
}

// Limits on a file of setups. JSON Lines are answered one by one, so their number is unlimited; any other file is
// read as a whole.
const (
	most    = 1 << 30
	maxText = 4 << 20 // maximum size of a line, or of a file that is not JSON Lines
)

// Reader reads a file of setups, one at a time.
type Reader struct {
	in    *bufio.Reader
	line  int                 // lines read so far
	begin []byte              // data read before the format of the file was known
	next  func() (Raw, error) // nil until the format is known
}

// NewReader reads setups from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(files.Limit(r, most), 64<<10)}
}

// Read reads a file of setups. A setup that cannot be decoded has its Err set; the error is for a file that cannot be
// read at all or contains no setup.
func Read(r io.Reader) ([]Raw, error) {
	in := NewReader(r)
	var out []Raw
	for {
		raw, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		}
		out = append(out, raw)
	}
}

// Next returns the next setup. A setup that cannot be decoded has its Err set; the error is io.EOF after the last
// one, or another error if the file cannot be read further.
func (r *Reader) Next() (Raw, error) {
	if r.next != nil {
		return r.next()
	}
	if err := r.tell(); err != nil {
		return Raw{}, err
	}
	raw, err := r.next()
	if errors.Is(err, io.EOF) {
		return Raw{}, errors.New("it contains no setup")
	}
	return raw, err
}

// tell detects the format of the file: from its first line if that is a complete object, otherwise from
// all of it.
func (r *Reader) tell() error {
	begun, from := false, 0 // whether a line had any content, and where the last line begins
	for {
		line, err := r.in.ReadSlice('\n')
		r.begin = append(r.begin, line...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return r.tellWhole()
		case err != nil:
			return err
		case !begun:
			first := bytes.TrimSpace(withoutMark(r.begin[from:]))
			if bytes.HasPrefix(first, []byte("{")) && json.Valid(first) {
				r.next = r.nextLine
				return nil
			}
			begun, from = len(first) > 0, len(r.begin)
		}
		if len(r.begin) > maxText {
			return r.tellLarge()
		}
	}
}

// tellLarge handles a large file that does not begin with a complete setup. Only JSON Lines may be that large.
func (r *Reader) tellLarge() error {
	whole := r.begin[:bytes.LastIndexByte(r.begin, '\n')+1]
	if isBinary(whole) {
		return errNotText
	}
	if !jsonLines(whole) {
		return files.TooLargeError{Most: maxText}
	}
	r.next = r.nextLine
	return nil
}

var errNotText = errors.New("not text; a setup is JSON or YAML")

// tellWhole detects the format of a file that was read to its end.
func (r *Reader) tellWhole() error {
	data := withoutMark(r.begin)
	if isBinary(data) {
		return errNotText
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case jsonLines(data):
		r.next = r.nextLine
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		r.next = once(readJSON(data, 1))
	default:
		r.next = readYAML(data)
	}
	return nil
}

func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) } // byte order mark

// once returns a function that returns one setup and then io.EOF.
func once(raw Raw) func() (Raw, error) {
	done := false
	return func() (Raw, error) {
		if done {
			return Raw{}, io.EOF
		}
		done = true
		return raw, nil
	}
}

// nextLine returns the setup in the next line that has one.
func (r *Reader) nextLine() (Raw, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Raw{}, err
		}
		r.line++
		switch {
		case r.line == 1:
			line = withoutMark(line)
		case len(line) > maxText:
			return Raw{Line: r.line, Err: fmt.Errorf("%d: longer than %d MiB, too long for a setup", r.line, maxText>>20)}, nil
		}
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case isBinary(line):
			return Raw{Line: r.line, Err: fmt.Errorf("%d: not text; a setup is JSON", r.line)}, nil
		default:
			return readJSON(line, r.line), nil
		}
	}
}

// readLine returns the next line. A line that is too long is truncated, but kept long enough for the caller to
// notice.
func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	if i := bytes.IndexByte(r.begin, '\n'); i >= 0 {
		line, r.begin = r.begin[:i+1:i+1], r.begin[i+1:]
		return line, nil
	}
	line, r.begin = r.begin, nil
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= maxText {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return line, err
		}
	}
}

// isBinary reports whether the data is not text. UTF-16, which some editors write, counts as text, because the YAML
// reader accepts it.
func isBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return false
	}
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// jsonLines reports whether a file is JSON Lines: if any line is a complete object, so that an invalid line affects
// only itself, or if every line begins an object.
func jsonLines(data []byte) bool {
	if json.Valid(data) || bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return false
	}
	some, all := false, true
	for line := range bytes.Lines(data) {
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case line[0] == '{' && json.Valid(line):
			return true
		}
		some, all = true, all && bytes.TrimSpace(line)[0] == '{'
	}
	return some && all
}
