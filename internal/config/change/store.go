// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Store is a project's folder with its journal.
type Store struct {
	root    string // as the user named it
	folder  Folder
	now     func() time.Time
	pid     int
	host    string
	machine string
	keyless bool // until the first change creates a key
}

// Options are the outside dependencies of a Store; each has a default.
type Options struct {
	// Folder opens the project's folder; nil opens the real one.
	Folder func(root string) (Folder, error)
	// Now is the clock.
	Now func() time.Time
	// Host and Machine identify this machine: its name, and a secret identity.
	Host, Machine string
}

// Open opens a project's folder. Nothing is written yet.
func Open(root string, o Options) (*Store, error) {
	s := &Store{root: root, now: o.Now, pid: os.Getpid(), host: o.Host, machine: o.Machine}
	if s.now == nil {
		s.now = time.Now
	}
	if s.host == "" {
		s.host, _ = os.Hostname() // without a host name, only machineID distinguishes machines
	}
	if s.machine == "" {
		s.keyed(readKey())
	}
	open := o.Folder
	if open == nil {
		open = func(root string) (Folder, error) { return OpenDisk(root) }
	}
	var err error
	if s.folder, err = open(root); err != nil {
		return nil, fmt.Errorf("%s: %w", root, explain(err))
	}
	return s, nil
}

// keyed sets the secret for seals: the machine's identity or, failing that, its name, and the key, which is
// "" until it is created.
func (s *Store) keyed(key string) {
	s.machine, s.keyless = cmp.Or(machineID(), s.host)+key, key == ""
}

// at returns the path of a file in the folder, as messages show it.
func (s *Store) at(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

// prepare creates the folders.
func (s *Store) prepare() error {
	if err := s.checkFolders(); err != nil {
		return err
	}
	for _, dir := range []string{snugFolder, journalFolder} {
		if err := s.folder.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating %s: %w", s.at(dir), explain(err))
		}
	}
	if err := s.checkFolders(); err != nil {
		return err
	}
	if _, err := s.folder.Lstat(ignoreName); errors.Is(err, fs.ErrNotExist) {
		// The journal belongs to this machine, not to the project, so git should ignore it. If this write
		// fails, no harm is done.
		_ = s.write(ignoreName, []byte(ignoreAll), 0o644, "")
	}
	return nil
}

// ignoreAll makes git ignore the journal.
const ignoreAll = "*\n"

// write writes a file completely or not at all: next to its place, synced, then renamed. like is the file
// whose owner and attributes are copied; "" for none.
func (s *Store) write(name string, content []byte, mode fs.FileMode, like string) error {
	if err := s.stage(name, content, mode, like); err != nil {
		return err
	}
	if err := s.folder.Rename(staged(name), name); err != nil {
		_ = s.folder.Remove(staged(name))
		return fmt.Errorf("writing %s: %w", s.at(name), explain(err))
	}
	if err := s.folder.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("writing %s: %w", s.at(name), explain(err))
	}
	return nil
}

// stage writes a new file next to its final place.
func (s *Store) stage(name string, content []byte, mode fs.FileMode, like string) error {
	tmp := staged(name)
	if err := s.folder.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", s.at(tmp), explain(err))
	}
	out, err := s.folder.Create(tmp)
	if err != nil {
		return fmt.Errorf("writing next to %s: %w", s.at(name), explain(err))
	}
	if err := fill(out, content, mode, like); err != nil {
		_ = s.folder.Remove(tmp)
		return fmt.Errorf("writing %s: %w", s.at(name), explain(err))
	}
	return nil
}

// staged returns the temporary name of a file before it is renamed.
func staged(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+".snug-tmp")
}

// fill writes the content, syncs the file and closes it.
func fill(out Output, content []byte, mode fs.FileMode, like string) error {
	_, err := out.Write(content)
	if err == nil && like != "" {
		err = out.Like(like)
	}
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
