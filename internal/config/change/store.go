// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Store is a project's folder with its journal.
type Store struct {
	root  string
	files Files
	now   func() time.Time
	pid   int
	host  string
	alive func(pid int) bool
}

// Options are what a Store takes from outside; each has a default.
type Options struct {
	Files Files
	Now   func() time.Time
	Pid   int
	Alive func(pid int) bool
}

// Open is the store of a project's folder. Nothing is written yet.
func Open(root string, o Options) *Store {
	s := &Store{root: root, files: o.Files, now: o.Now, pid: o.Pid, alive: o.Alive}
	if s.files == nil {
		s.files = Disk{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.pid == 0 {
		s.pid = os.Getpid()
	}
	if s.alive == nil {
		s.alive = processAlive
	}
	s.host, _ = os.Hostname() // a lock without a host is one of this host
	return s
}

// path is a file of the project as the system knows it.
func (s *Store) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.root, filepath.FromSlash(name))
}

func (s *Store) folder() string  { return filepath.Join(s.root, ".snug") }
func (s *Store) journal() string { return filepath.Join(s.folder(), "journal") }

// prepare makes the folders.
func (s *Store) prepare() error {
	for _, dir := range []string{s.folder(), s.journal()} {
		if err := s.files.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making %s: %w", dir, explain(err))
		}
	}
	ignore := filepath.Join(s.folder(), ".gitignore")
	if _, err := s.files.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		// The journal is this machine's, not the project's. Losing this is no harm.
		_ = s.write(ignore, []byte("*\n"), 0o644, nil)
	}
	return nil
}

// write makes a file whole or not at all: beside it, synced, then renamed.
func (s *Store) write(target string, content []byte, mode fs.FileMode, like fs.FileInfo) error {
	tmp, err := s.stage(target, content, mode, like)
	if err != nil {
		return err
	}
	return s.replace(tmp, target)
}

// stage writes a file beside where it is to be.
func (s *Store) stage(target string, content []byte, mode fs.FileMode, like fs.FileInfo) (tmp string, err error) {
	tmp = staged(target)
	if err := s.files.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("removing %s: %w", tmp, explain(err))
	}
	out, err := s.files.Create(tmp, 0o600)
	if err != nil {
		return "", fmt.Errorf("writing beside %s: %w", target, explain(err))
	}
	err = fill(out, content, mode)
	if err == nil && like != nil {
		if err = s.files.Own(tmp, like); err != nil {
			err = fmt.Errorf("its owner cannot be kept: %w", reason(err))
		}
	}
	if err != nil {
		_ = s.files.Remove(tmp)
		return "", fmt.Errorf("writing %s: %w", target, explain(err))
	}
	return tmp, nil
}

// staged is the name of a file that is not in place yet.
func staged(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".snug-tmp")
}

// fill writes, makes it last and closes.
func fill(out Output, content []byte, mode fs.FileMode) error {
	_, err := out.Write(content)
	if err == nil {
		err = out.Chmod(mode)
	}
	if err == nil {
		err = out.Sync()
	}
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// replace puts a staged file in place.
func (s *Store) replace(tmp, target string) error {
	if err := s.files.Rename(tmp, target); err != nil {
		_ = s.files.Remove(tmp)
		return fmt.Errorf("writing %s: %w", target, explain(err))
	}
	if err := s.files.SyncDir(filepath.Dir(target)); err != nil {
		return fmt.Errorf("writing %s: %w", target, explain(err))
	}
	return nil
}

// ReadFile reads a file of the project; names are relative, with slashes.
func (s *Store) ReadFile(name string) ([]byte, error) { return s.files.ReadFile(s.path(name)) }

// ReadDir lists a folder of the project.
func (s *Store) ReadDir(name string) ([]fs.DirEntry, error) { return s.files.ReadDir(s.path(name)) }
