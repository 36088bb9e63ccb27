// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// The lock is the system's lock on .snug/lock, which is released when its process ends. The file names the
// holder, for messages only:
//
//	process 4711 on node7 since 2026-08-01T12:00:00Z
//
// A lock file that came with a clone is not locked and has no effect.

// lock creates snug's folder and takes the lock. Another snug that reverts its last change may remove the
// folder at the same time, so it is created again under the lock.
func (s *Store) lock() (release func(), err error) {
	holder := fmt.Sprintf("process %d on %s since %s", s.pid, s.host, s.now().UTC().Format("2006-01-02T15:04:05Z"))
	for range 10 {
		if err := s.prepare(); err != nil {
			return nil, err
		}
		release, err = s.folder.Lock(lockName, holder)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	var held heldBy
	if errors.As(err, &held) {
		return nil, fmt.Errorf("another snug is running here (%w); wait for it", held)
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", s.at(lockName), explain(err))
	}
	if err := s.prepare(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// heldBy is the error for a lock that the named process has.
type heldBy string

func (h heldBy) Error() string {
	text, _, _ := strings.Cut(string(h), "\n")
	if text == "" {
		return "another process"
	}
	return text
}
