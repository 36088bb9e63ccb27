// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Export writes every run as a line of JSON.
func (s *Store) Export(w io.Writer) error {
	runs, err := s.List()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range runs {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// maxLine limits the length of a line of an export (a setup takes a few kilobytes), and maxRuns the number of
// lines.
const (
	maxLine = 1 << 20
	maxRuns = 1 << 20
)

// ReadExport reads what Export writes.
func ReadExport(r io.Reader) ([]Run, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var out []Run
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		x, err := readRun(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if out = append(out, x); len(out) > maxRuns {
			return nil, fmt.Errorf("it has more than %d runs", maxRuns)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: it is too long for a run", n+1)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	case len(out) == 0:
		return nil, errors.New("it contains no runs")
	}
	return out, nil
}

// readRun returns the run in a line. It drops the run's ID, which snug history --json includes, because it means
// nothing in another store.
func readRun(line []byte) (Run, error) {
	var x struct {
		Number int64 `json:"id"`
		Run
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&x)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return Run{}, fmt.Errorf("it must be one run, like {...}, not of type %s", kind.Value)
	case errors.As(err, &kind):
		return Run{}, fmt.Errorf("%q cannot be of type %s", strings.TrimPrefix(kind.Field, "Run."), kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Run{}, errors.New("it ends within a run; is the file complete?")
	case err != nil:
		return Run{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return x.redacted(), x.check()
}

// Import adds the runs from an export that are not in the store yet, all or none, and returns how many it added.
func (s *Store) Import(runs []Run) (int, error) {
	have, err := s.List()
	if err != nil {
		return 0, err
	}
	known := map[Run]int{} // two runs may be identical
	for _, x := range have {
		x.ID = 0
		known[x]++
	}
	var added []Run
	for _, x := range runs {
		if known[x]--; known[x] < 0 {
			added = append(added, x)
		}
	}
	return len(added), s.Add(added...)
}
