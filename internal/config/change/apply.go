// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"snug/internal/files"
)

// Apply writes a change: all files or none. Each existing file is also kept as NAME.backup. The note is
// stored in the journal.
func (s *Store) Apply(c *Change, note string) (*Entry, error) {
	if len(c.Files) == 0 {
		return nil, errors.New("there is nothing to change")
	}
	release, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := s.list()
	if err != nil {
		return nil, err
	}
	if s.interrupted(l) {
		return nil, errInterrupted
	}
	files, err := s.withBackups(c.Files, l.own[done])
	if err != nil {
		return nil, err
	}
	if err := s.unchanged(files); err != nil {
		return nil, err
	}
	entry, err := s.entry(l.last+1, files, note)
	if err != nil {
		return nil, err
	}
	return entry, s.commit(entry, files)
}

// errInterrupted means that an earlier change must be finished or reverted first.
var errInterrupted = errors.New("an earlier change was interrupted; run snug revert to restore its files")

// unchanged checks that nothing was written since the change was planned.
func (s *Store) unchanged(files []File) error {
	for _, f := range files {
		now, err := s.content(f.Path)
		if err != nil {
			return err
		}
		if f.Before != nil && now == nil {
			return fmt.Errorf("%s: the file was removed since it was read", f.Path)
		}
		if (f.Before == nil) != (now == nil) || !bytes.Equal(f.Before, now) {
			return fmt.Errorf("%s: the file was changed since it was read; run again", f.Path)
		}
	}
	return nil
}

// content returns the content of a file, or nil if there is none. A link is refused, because it was created after
// the change was planned.
func (s *Store) content(name string) ([]byte, error) {
	info, err := s.folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = files.Regular(info)
	}
	var data []byte
	if err == nil {
		data, err = s.folder.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.at(name), explain(err))
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// withBackups adds the .backup files. They come first, so that each copy exists before its file changes.
func (s *Store) withBackups(files []File, made []*Entry) ([]File, error) {
	var backups []File
	for _, f := range files {
		if f.Before == nil {
			continue
		}
		b, err := s.backup(f, made)
		if err != nil {
			return nil, err
		}
		backups = append(backups, b)
	}
	return append(backups, files...), nil
}

// backup returns the .backup file of a file. An existing one is replaced only if snug wrote it; otherwise the
// next free name is used.
func (s *Store) backup(f File, made []*Entry) (File, error) {
	for n := 1; n < 1000; n++ {
		name := f.Path + ".backup"
		if n > 1 {
			name += fmt.Sprintf(".%d", n)
		}
		if info, err := s.folder.Lstat(name); err == nil && !info.Mode().IsRegular() {
			continue
		}
		now, err := s.content(name)
		if err != nil {
			return File{}, err
		}
		if now == nil || bytes.Equal(now, f.Before) || wroteBackup(made, name, digest(now)) {
			return File{Path: name, Before: now, After: f.Before, info: f.info, like: f.Path, backup: true}, nil
		}
	}
	return File{}, fmt.Errorf("%s has too many .backup files; remove some", f.Path)
}

// wroteBackup reports whether one of snug's changes wrote the backup and it has not changed since.
func wroteBackup(made []*Entry, name, sum string) bool {
	for _, e := range made {
		for _, f := range e.Files {
			if f.Backup && f.Path == name && f.After == sum {
				return true
			}
		}
	}
	return false
}

// entry returns the journal entry for a change.
func (s *Store) entry(id int, files []File, note string) (*Entry, error) {
	e := &Entry{Version: journalVersion, ID: id, Time: s.now().UTC(), Note: note}
	for _, f := range files {
		e.Files = append(e.Files, journalFile{
			Path: f.Path, Mode: fmt.Sprintf("%04o", f.permissions()),
			Before: f.Before, After: digest(f.After), Backup: f.backup,
		})
	}
	return e, s.seal(e)
}

// permissions returns the permissions of the new file: those of the old one.
func (f *File) permissions() fs.FileMode {
	if f.info == nil {
		return 0o644
	}
	return f.info.Mode().Perm()
}

// commit writes the files. If a write fails, it restores the old files and the error reports that.
func (s *Store) commit(entry *Entry, files []File) error {
	if err := s.writeJSON(entryName(entry.ID, begun), entry); err != nil {
		_ = s.drop(entryName(entry.ID, begun))
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if err := s.put(files); err != nil {
		if undo := s.undo(entry, false); undo != nil {
			return fmt.Errorf("%w; restoring the old files failed too (%w): run snug revert", err, undo)
		}
		return fmt.Errorf("%w; nothing was changed", err)
	}
	from, to := entryName(entry.ID, begun), entryName(entry.ID, done)
	if err := s.folder.Rename(from, to); err != nil {
		if undo := s.undo(entry, false); undo != nil {
			return fmt.Errorf("writing %s: %w; run snug revert", s.at(to), explain(err))
		}
		return fmt.Errorf("writing %s: %w; nothing was changed", s.at(to), explain(err))
	}
	// The change is complete. Only its mark remains to be synced.
	_ = s.folder.SyncDir(journalFolder)
	return nil
}

// put stages every file, then renames them all.
func (s *Store) put(files []File) error {
	for _, f := range files {
		if err := s.stage(f.Path, f.After, f.permissions(), f.like); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := s.folder.Rename(staged(f.Path), f.Path); err != nil {
			return fmt.Errorf("writing %s: %w", f.Path, explain(err))
		}
	}
	for _, dir := range folders(files) {
		if err := s.folder.SyncDir(dir); err != nil {
			return fmt.Errorf("writing %s: %w", dir, explain(err))
		}
	}
	return nil
}

func folders(files []File) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, f := range files {
		if dir := path.Dir(f.Path); !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
