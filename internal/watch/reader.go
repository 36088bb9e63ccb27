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
	"maps"
	"slices"
	"strings"
)

// longest is the maximum length of a line in bytes. A sample of a card with a thousand processes needs a tenth of it.
const longest = 1 << 20

// Reader reads a recording line by line. A line that is not JSON is skipped: the writing process was killed, or its disk was full.
type Reader struct {
	in      *bufio.Scanner
	lines   int
	events  int
	unknown map[Kind]int
	fields  map[string]int // fields that are not read, as KIND.FIELD
	broken  int            // lines that are not JSON
	first   int            // the number of the first of them
	last    int            // the number of the last of them
	cut     bool
	t       float64 // the time of the newest event
	shift   float64 // seconds added to times, because they went back
	back    []int   // the lines in which they did
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
	return &Reader{in: s, unknown: map[Kind]int{}, fields: map[string]int{}}, nil
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
		switch {
		case err == nil:
			r.events++
			r.countFields(e.Kind, text)
			return r.inOrder(e), nil
		case errors.Is(err, errKind):
			r.unknown[e.Kind]++
		case r.events > 0 && !json.Valid(text):
			r.skip()
		default:
			return Event{}, fmt.Errorf("line %d: %w", r.lines, inWords(err))
		}
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

// jumpedBack is the number of seconds that times may go back before this counts as a jump of the clock. Sources that are written in
// turn may be slightly out of order.
const jumpedBack = 60

// inOrder returns the event with a time that continues from before a jump of the clock, or from the end of a previous run.
func (r *Reader) inOrder(e Event) Event {
	if e.T += r.shift; e.T < r.t-jumpedBack {
		if e.Kind != KindStart {
			r.back = append(r.back[:min(len(r.back), mostFields)], r.lines)
		}
		r.shift += r.t - e.T
		e.T = r.t
	}
	r.t = e.T
	return e
}

// inWords returns an error of encoding/json without Go's types.
func inWords(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is a JSON %s, not an object", wrong.Value)
	}
	return fmt.Errorf("%q cannot be a %s", wrong.Field, wrong.Value)
}

// skip counts a line that is not JSON.
func (r *Reader) skip() {
	if r.broken == 0 {
		r.first = r.lines
	}
	r.broken, r.last = r.broken+1, r.lines
}

// countFields counts the fields of a line that are not read.
func (r *Reader) countFields(kind Kind, text []byte) {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return
	}
	for name, value := range all {
		if !named(fieldsOf[kind], name) && !named(fieldsOfAll, name) && len(r.fields) < mostFields {
			r.fields[string(kind)+"."+name]++
		}
		if name == "procs" {
			r.countProcessFields(value)
		}
	}
}

// countProcessFields counts the fields of a card's processes that are not read.
func (r *Reader) countProcessFields(text []byte) {
	var list []map[string]json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return
	}
	for _, all := range list {
		for name := range all {
			if !named(fieldsOfProcess, name) && len(r.fields) < mostFields {
				r.fields["procs."+name]++
			}
		}
	}
}

// named reports whether a name is in a list. As in encoding/json, case does not matter.
func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// mostFields is how many unknown fields are told apart.
const mostFields = 64

// Notes returns notes for the user about what the reader skipped.
func (r *Reader) Notes() []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(r.unknown)) {
		out = append(out, fmt.Sprintf("%s of unknown kind %q %s skipped; a newer snug may have written them", counted(r.unknown[kind]), kind, was(r.unknown[kind])))
	}
	if names := slices.Sorted(maps.Keys(r.fields)); len(names) > 0 {
		out = append(out, fmt.Sprintf("fields that snug does not know were ignored: %s", strings.Join(names, ", ")))
	}
	if len(r.back) > 0 {
		out = append(out, fmt.Sprintf("the times go back in line %d; they continue from before that", r.back[0]))
	}
	broken, cut := r.broken, r.cut
	if broken > 0 && r.last == r.lines { // nothing follows it
		broken, cut = broken-1, true
	}
	if broken > 0 {
		out = append(out, fmt.Sprintf("%s %s not JSON and %s skipped, first line %d; the disk may have been full", counted(broken), is(broken), was(broken), r.first))
	}
	if cut {
		out = append(out, fmt.Sprintf("the recording stops in the middle of line %d; everything before it was read", r.lines))
	}
	return out
}

func counted(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", lines)
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
