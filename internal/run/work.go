// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"snug/internal/filelock"
)

// A folder of recordings has the process ID in its name,
//
//	snug-profile-4711-2839204
//	    lock          locked by that process as long as it is alive
//	    outside       files that it is writing next to the user's, one quoted path per line
//	    snug-run-…    one folder per run
//
// so that the next snug can tell that a killed one will not remove it (left.go).
const (
	workPrefix  = "snug-profile-"
	lockName    = "lock"
	outsideName = "outside"
	lockedText  = "locked\n" // content of the lock file, if locking works
)

// Work is a recording process's private folder.
type Work struct {
	Path      string // absolute
	lock      *os.File
	tempFiles int
}

// NewWork creates a Work under parent ("" is the system's temporary folder).
func NewWork(parent string) (*Work, error) {
	if parent == "" {
		parent = tempDir()
	}
	path, err := os.MkdirTemp(parent, fmt.Sprintf("%s%d-", workPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = os.RemoveAll(path)
		return nil, err
	}
	if filelock.Try(lock) == nil { // if locking does not work, the process ID decides whether the folder is in use
		_, _ = lock.WriteString(lockedText)
	}
	return &Work{Path: path, lock: lock}, nil
}

// tempDir returns the absolute path of the system's temporary folder: commands may change their working directory
// before they use it.
func tempDir() string {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil {
		return os.TempDir()
	}
	return dir
}

// Remove removes the folder and its contents.
func (w *Work) Remove() error {
	defer w.lock.Close()
	return removeWork(w.Path)
}

// removeWork removes a folder, and the files that its process was writing next to the user's. The list of those files
// and the lock are removed last, because they tell the next snug what is left to do.
func removeWork(path string) error {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != lockName && e.Name() != outsideName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	err = errors.Join(err, removeOutside(path))
	for _, last := range []string{filepath.Join(path, outsideName), filepath.Join(path, lockName), path} {
		if err == nil {
			err = os.RemoveAll(last)
		}
	}
	return err
}

// removeOutside removes the files that a process was writing next to the user's.
func removeOutside(work string) error {
	f, err := os.Open(filepath.Join(work, outsideName))
	if err != nil {
		return nil // no list, so no files to remove
	}
	defer f.Close()
	var failed error
	for lines := bufio.NewScanner(f); lines.Scan(); {
		path, err := strconv.Unquote(lines.Text())
		if err != nil || !filepath.IsAbs(path) || !strings.HasPrefix(filepath.Base(path), tempPrefix(work)) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && isMine(info) {
			failed = errors.Join(failed, os.Remove(path))
		}
	}
	return failed
}

// TempFile creates a temporary file in one of the user's folders. It is listed first, so that it can be removed if
// this process is killed.
func (w *Work) TempFile(folder string) (*os.File, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	w.tempFiles++
	path := filepath.Join(folder, tempPrefix(w.Path)+strconv.Itoa(w.tempFiles))
	note, err := os.OpenFile(filepath.Join(w.Path, outsideName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = note.WriteString(strconv.Quote(path) + "\n")
	if closed := note.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// tempPrefix returns the prefix of the names of TempFile's files.
func tempPrefix(work string) string {
	return ".snug-" + strings.TrimPrefix(filepath.Base(work), workPrefix) + "-"
}

// Put writes one of the user's files atomically.
func (w *Work) Put(path string, write func(io.Writer) error) error {
	f, err := w.TempFile(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// MayWriteIn returns an error if no file can be created in the folder. It tries to create one.
func (w *Work) MayWriteIn(folder string) error {
	f, err := w.TempFile(folder)
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}
