// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// The lock is a file with one line: the process, its host and since when.
//
//	4711 node7 2026-08-01T12:00:00Z
//
// It is made only where there is none. One whose process is gone is stale: it
// is renamed first, which only one of several that find it can do.

// lock takes the lock; the function gives it back.
func (s *Store) lock() (unlock func(), err error) {
	name := filepath.Join(s.folder(), "lock")
	for range 3 {
		err = s.take(name)
		if err == nil {
			return func() { _ = s.files.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("locking %s: %w", name, explain(err))
		}
		held, err := s.files.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading %s: %w", name, explain(err))
		}
		if err == nil && s.holds(string(held)) {
			return nil, fmt.Errorf("another snug is at work here (%s in %s); wait for it, or remove that file if it is none", describe(string(held)), name)
		}
		if err == nil {
			s.breakLock(name)
		}
	}
	return nil, fmt.Errorf("locking %s: others keep taking it; try again", name)
}

// take makes the lock file.
func (s *Store) take(name string) error {
	out, err := s.files.Create(name, 0o644)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d %s %s\n", s.pid, s.host, s.now().UTC().Format("2006-01-02T15:04:05Z"))
	if err := fill(out, []byte(text), 0o644); err != nil {
		_ = s.files.Remove(name)
		return err
	}
	return nil
}

// holds says whether the one who wrote a lock is still there. A lock of another
// host cannot be checked; one that was not written to the end is nobody's.
func (s *Store) holds(text string) bool {
	var pid int
	var host, since string
	if n, _ := fmt.Sscan(text, &pid, &host, &since); n < 3 || !strings.HasSuffix(text, "\n") {
		return false
	}
	return host != s.host || s.alive(pid)
}

// breakLock moves a stale lock out of the way.
func (s *Store) breakLock(name string) {
	stale := fmt.Sprintf("%s.stale-%d", name, s.pid)
	if s.files.Rename(name, stale) == nil {
		_ = s.files.Remove(stale)
	}
}

// describe is a lock for a message.
func describe(text string) string {
	var pid int
	var host, since string
	_, _ = fmt.Sscan(text, &pid, &host, &since)
	return fmt.Sprintf("process %d on %s since %s", pid, host, since)
}
