// SPDX-License-Identifier: Apache-2.0

package change

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The journal, version 1. Goals: everything to restore the files exactly, in
// one file a change, readable by a person. Not goals: small; shared between
// machines.
//
//	.snug/journal/
//	  000001.done     a change that was made
//	  000002.begun    one that was begun: its files are old or new, each one
//	  revert          changes that are being taken back: {"version": 1, "ids": [2, 1], "force": false}
//
// An entry is a JSON object:
//
//	version  1; a higher one was written by a newer snug and is left alone
//	id       counts up, as in the name
//	time     RFC 3339
//	note     what the change was, for people
//	files    path    relative to the project's folder
//	         target  the file itself, where path leads through links
//	         mode    permissions, in octal
//	         before  the old content in base64; null where there was no file
//	         after   SHA-256 of the new content
//	         backup  true for .backup files, which may go without being missed
const journalVersion = 1

// Entry is a change that was made.
type Entry struct {
	Version int           `json:"version"`
	ID      int           `json:"id"`
	Time    time.Time     `json:"time"`
	Note    string        `json:"note"`
	Files   []journalFile `json:"files"`
}

type journalFile struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	Mode   string `json:"mode"`
	Before []byte `json:"before"`
	After  string `json:"after"`
	Backup bool   `json:"backup,omitempty"`
}

// Paths are the files of a change, without their backups.
func (e *Entry) Paths() []string {
	var paths []string
	for _, f := range e.Files {
		if !f.Backup {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func (f *journalFile) mode() fs.FileMode {
	mode, err := strconv.ParseUint(f.Mode, 8, 12)
	if err != nil {
		return 0o644
	}
	return fs.FileMode(mode)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

const (
	begun = ".begun"
	done  = ".done"
)

func (s *Store) entryPath(id int, state string) string {
	return filepath.Join(s.journal(), fmt.Sprintf("%06d%s", id, state))
}

// entries are those of a state, oldest first.
func (s *Store) entries(state string) ([]*Entry, error) {
	list, err := s.files.ReadDir(s.journal())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.journal(), explain(err))
	}
	var all []*Entry
	for _, f := range list {
		if !strings.HasSuffix(f.Name(), state) || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		e, err := s.readEntry(filepath.Join(s.journal(), f.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Entry) int { return a.ID - b.ID })
	return all, nil
}

func (s *Store) readEntry(name string) (*Entry, error) {
	data, err := s.files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, explain(err))
	}
	return parseEntry(name, data)
}

// parseEntry reads an entry and refuses one that could not be trusted to
// restore anything.
func parseEntry(name string, data []byte) (*Entry, error) {
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore from the .backup files and remove it", name, err)
	}
	if e.Version != journalVersion {
		return nil, fmt.Errorf("%s has version %d, this snug knows %d; use the snug that wrote it", name, e.Version, journalVersion)
	}
	for _, f := range e.Files {
		if f.Target == "" || len(f.After) != 2*sha256.Size {
			return nil, fmt.Errorf("%s is damaged: a file has no target or no checksum; restore from the .backup files and remove it", name)
		}
	}
	return &e, nil
}

// List is the changes that can be taken back, newest first.
func (s *Store) List() ([]*Entry, error) {
	all, err := s.entries(done)
	slices.Reverse(all)
	return all, err
}

// nextID is one more than any there is.
func (s *Store) nextID() (int, error) {
	id := 0
	for _, state := range []string{begun, done} {
		all, err := s.entries(state)
		if err != nil {
			return 0, err
		}
		for _, e := range all {
			id = max(id, e.ID)
		}
	}
	return id + 1, nil
}

// writeJSON writes a file of the journal.
func (s *Store) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return s.write(name, append(data, '\n'), 0o600, nil)
}

// drop removes a file of the journal.
func (s *Store) drop(name string) error {
	if err := s.files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", name, explain(err))
	}
	return s.files.SyncDir(filepath.Dir(name))
}
