// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// maxLine bounds a line of an export; a setup is a few kilobytes.
const maxLine = 1 << 20

// ReadExport reads what Export writes.
func ReadExport(r io.Reader) ([]Run, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var out []Run
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var x Run
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&x); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := x.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, x)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(out)+1, err)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no run in it")
	}
	return out, nil
}

func (r *Run) check() error {
	switch {
	case r.At <= 0:
		return errors.New("\"at\" should be seconds since 1970")
	case r.Reserved == 0 || r.Reserved >= 1<<50 || r.Predicted >= 1<<50 || r.Allocated >= 1<<50:
		return errors.New("\"reserved\", \"allocated\" and \"predicted\" should be bytes of a GPU")
	case r.StepSeconds < 0:
		return errors.New("\"step_seconds\" is negative")
	}
	return nil
}

// Import adds the runs of an export that are not there yet, all or none, and
// says how many those were.
func (s *Store) Import(r io.Reader) (int, error) {
	runs, err := ReadExport(r)
	if err != nil {
		return 0, err
	}
	have, err := s.List()
	if err != nil {
		return 0, err
	}
	known := map[Run]int{} // two runs may be alike in everything
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
