// SPDX-License-Identifier: Apache-2.0

package change

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"snug/internal/files"
)

// The journal, version 2. apply.go writes entries, and revert.go and recover.go use them; they stay until they are
// reverted. Goals: everything needed to restore the files exactly, in one human-readable file per change; useless to
// an attacker who puts one into a repository for others to clone. Non-goals: being small; being shared between
// machines.
//
//	.snug/journal/
//	  000001.done     a change that was made
//	  000002.begun    one that was begun: each of its files is old or new
//	  revert          changes being reverted: {"version": 2, "ids": [2, 1], …, "seal": "…"}
//
// An entry is a JSON object:
//
//	version  2
//	id       counts up, as in the name
//	time     RFC 3339
//	note     what the change was, in words
//	host, folder, inode, seal
//	         whose journal this is (owner.go)
//	files    path    relative to the project's folder, links resolved
//	         mode    permissions, in octal
//	         before  the old content in base64; null where there was no file
//	         after   SHA-256 of the new content
//	         backup  true for .backup files, whose loss does no harm
//
// An entry is checked before it is used: the seal shows that this machine wrote it for this folder, each path
// must stay inside the folder, and a file that is neither the old nor the new one is left alone. Whether to
// overwrite files edited since is never read from disk, only from the command line.
const journalVersion = 2

// Limits for a journal that someone else may have written.
const (
	maxEntries     = 10_000
	largestJournal = 256 << 20
)

// Entry is a change that was made.
type Entry struct {
	Version int       `json:"version"` // version of the journal's format
	ID      int       `json:"id"`      // counts changes from 1
	Time    time.Time `json:"time"`    // when the change was made
	Note    string    `json:"note"`    // what the change was, in words
	owner
	Files []journalFile `json:"files"` // the files that it changed
}

type journalFile struct {
	Path   string `json:"path"`
	Mode   string `json:"mode"`
	Before []byte `json:"before"`
	After  string `json:"after"`
	Backup bool   `json:"backup,omitempty"`
}

// Paths returns the files of a change, without their backups.
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
	return fs.FileMode(mode) & fs.ModePerm
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// The states of an entry, which are the extensions of its file name.
const (
	begun = ".begun"
	done  = ".done"
)

// Names in the project's folder.
const (
	snugFolder    = ".snug"
	journalFolder = ".snug/journal"
	lockName      = ".snug/lock"
	ignoreName    = ".snug/.gitignore"
	revertName    = ".snug/journal/revert"
)

func entryName(id int, state string) string {
	return fmt.Sprintf("%s/%06d%s", journalFolder, id, state)
}

// listing is the contents of the journal's folder, read once.
type listing struct {
	own     map[string][]*Entry // by state, oldest first
	foreign []*Entry            // from other folders and machines
	last    int                 // the highest number in use
}

// list reads the journal and returns its entries.
func (s *Store) list() (listing, error) {
	l := listing{own: map[string][]*Entry{}}
	if err := s.checkFolders(); err != nil {
		return l, err
	}
	names, err := s.folder.ReadDir(journalFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("reading %s: %w", s.at(journalFolder), explain(err))
	}
	if len(names) > maxEntries {
		return l, fmt.Errorf("%s contains more than %d files; remove those that snug did not write", s.at(journalFolder), maxEntries)
	}
	size := 0
	for _, f := range names {
		state := path.Ext(f.Name())
		if state != begun && state != done || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		e, n, err := s.readEntry(path.Join(journalFolder, f.Name()))
		if err != nil {
			return l, err
		}
		if size += n; size > largestJournal {
			return l, fmt.Errorf("%s is larger than %d MiB; remove the files that snug did not write", s.at(journalFolder), largestJournal>>20)
		}
		if err := l.add(s, e, f.Name(), state); err != nil {
			return l, err
		}
	}
	for _, entries := range l.own {
		slices.SortFunc(entries, func(a, b *Entry) int { return a.ID - b.ID })
	}
	return l, nil
}

// add adds an entry to our own or to the foreign ones. The number comes from the file's name, not from the entry,
// so that a new entry never overwrites a file.
func (l *listing) add(s *Store, e *Entry, name, state string) error {
	n, _ := strconv.Atoi(strings.TrimSuffix(name, state))
	l.last = max(l.last, n, 1)
	if e.Version != journalVersion || !s.owns(e) || path.Base(entryName(e.ID, state)) != name {
		l.foreign = append(l.foreign, e)
		return nil
	}
	if err := e.check(); err != nil {
		return s.damaged(path.Join(journalFolder, name), err)
	}
	l.own[state] = append(l.own[state], e)
	return nil
}

// check returns an error for an entry that cannot be trusted to restore files.
func (e *Entry) check() error {
	for _, f := range e.Files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if len(f.After) != 2*sha256.Size {
			return fmt.Errorf("%q has no checksum", f.Path)
		}
	}
	return nil
}

func (s *Store) damaged(name string, err error) error {
	return fmt.Errorf("%s is damaged: %w; restore from the .backup files and remove it", s.at(name), err)
}

// readEntry reads one entry and its size.
func (s *Store) readEntry(name string) (*Entry, int, error) {
	info, err := s.folder.Lstat(name)
	if err == nil {
		err = files.Regular(info)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", s.at(name), explain(err))
	}
	data, err := s.folder.ReadFile(name)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", s.at(name), explain(err))
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, 0, s.damaged(name, err)
	}
	return &e, len(data), nil
}

// List returns the changes that can be reverted, newest first.
func (s *Store) List() ([]*Entry, error) {
	l, err := s.list()
	all := slices.Clone(l.own[done])
	slices.Reverse(all)
	return all, err
}

// Foreign describes the changes in the journal that were not made in this folder on this machine; "" if
// there are none. They are never acted on.
func (s *Store) Foreign() (string, error) {
	l, err := s.list()
	if err != nil || len(l.foreign) == 0 {
		return "", err
	}
	return s.foreignText(l.foreign), nil
}

// foreignText describes a journal that came from elsewhere or was altered. The seal of an altered file looks
// like another user's.
func (s *Store) foreignText(entries []*Entry) string {
	journal, e := s.at(journalFolder), entries[0]
	of := "it came with a clone, a copy or an archive"
	switch {
	case e.Host == s.host && s.here(&e.owner):
		return fmt.Sprintf("%s was altered or was written by another user, so it is not used; the .backup files have the old versions; remove it if you do not need it", journal)
	case e.Folder != "":
		of = fmt.Sprintf("it was written in %s on %s", short(e.Folder), short(e.Host))
	}
	return fmt.Sprintf("%s does not belong to this folder (%s) and is not used; remove it if you do not need it", journal, of)
}

// short truncates text from others to fit into a message.
func short(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// writeJSON writes a file of the journal.
func (s *Store) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return s.write(name, append(data, '\n'), 0o600, "")
}

// drop removes a file of the journal.
func (s *Store) drop(name string) error {
	if err := s.folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", s.at(name), explain(err))
	}
	return s.folder.SyncDir(path.Dir(name))
}
