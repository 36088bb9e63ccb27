// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"snug/internal/pattern"
)

// A folder of recordings carries the process in its name,
//
//	snug-profile-4711-2839204
//
// so that whoever comes after a snug that was killed can tell that nobody will
// take it away. That is done only where everything speaks for it: the name, the
// owner, a process of that number that is gone, no process left of its runs, and
// a lock that nobody holds; the last one because in a container that shares the
// folder for temporary files, numbers of processes say nothing.

var workName = pattern.New(`^snug-profile-([1-9][0-9]{0,9})-[0-9]+$`)

// lockName is the file in a folder that its process holds locked.
const lockName = "lock"

// Work is the private folder of a process that profiles.
type Work struct {
	Path string
	lock *os.File
}

// NewWork makes one under parent ("" is the system's place for temporary files).
func NewWork(parent string) (*Work, error) {
	path, err := os.MkdirTemp(parent, fmt.Sprintf("snug-profile-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, err
	}
	_ = tryLock(lock) // where locks do not work, the process still counts
	return &Work{path, lock}, nil
}

// Remove takes the folder away with all in it.
func (w *Work) Remove() error {
	_ = w.lock.Close()
	return os.RemoveAll(w.Path)
}

// RemoveLeft takes away what processes that are gone have left under parent, and
// returns how many folders that were. Whatever is in doubt stays.
func RemoveLeft(parent string) int {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0
	}
	removed := 0
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if e.IsDir() && abandoned(path) && os.RemoveAll(path) == nil {
			removed++
		}
	}
	return removed
}

// abandoned says whether nobody needs a folder any more.
func abandoned(path string) bool {
	m := workName.Find(filepath.Base(path))
	if m == nil {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	info, missing := os.Lstat(path)
	if err != nil || missing != nil || !info.IsDir() || !isMine(info) || !gone(pid) {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
	if err != nil {
		return false // it is being made, or is none of these
	}
	defer lock.Close()
	return tryLock(lock) == nil && !stillRuns(path)
}

// stillRuns says whether a process of one of the folder's runs is left.
func stillRuns(path string) bool {
	runs, _ := filepath.Glob(filepath.Join(path, "snug-run-*"))
	for _, r := range runs {
		if len(marked(r)) > 0 {
			return true
		}
	}
	return false
}
