// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// ReadDir lists a folder by name, and fails if it has more than limit entries: listing ten million files takes
// gigabytes.
func ReadDir(name string, limit int) ([]fs.DirEntry, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > limit {
		return nil, &fs.PathError{Op: "list", Path: name, Err: TooManyError{limit}}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// TooManyError means that a folder has more entries than the limit.
type TooManyError struct {
	Most int // the limit
}

// Error names the limit.
func (e TooManyError) Error() string {
	return fmt.Sprintf("this folder has more than %d files", e.Most)
}
