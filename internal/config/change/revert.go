// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"snug/internal/files"
)

// ErrEdited means that a file is not as snug left it. Only force overwrites it.
var ErrEdited = errors.New("edited since")

// Reverted is the result of a revert.
type Reverted struct {
	// Entries are the changes that were reverted, newest first.
	Entries []*Entry
	// Interrupted is set if the first of Entries was an unfinished change.
	Interrupted bool
}

// Revert reverts the last n changes as one: their files become as they were before the oldest of them. An
// interrupted change is reverted first. If files were edited since, Revert fails unless force is set.
func (s *Store) Revert(n int, force bool) (Reverted, error) {
	var out Reverted
	if n < 1 {
		return out, fmt.Errorf("cannot undo %d changes; give 1 or more", n)
	}
	if l, err := s.list(); err != nil || !s.interrupted(l) && len(l.own[done]) == 0 {
		return out, cmp.Or(err, s.noChange(l.foreign))
	}
	release, err := s.lock()
	if err != nil {
		return out, err
	}
	defer s.leave(release)
	l, err := s.list()
	if err != nil {
		return out, err
	}
	out.Interrupted = s.interrupted(l)
	if out.Entries, err = s.recover(force); err != nil {
		return out, err
	}
	if left := n - max(len(out.Entries), steps(out.Interrupted)); left > 0 {
		err = s.revertDone(&out, left, force)
	}
	return out, err
}

// leave releases the lock. If no change is left, it also removes snug's folder.
func (s *Store) leave(release func()) {
	if l, err := s.list(); err == nil && l.last == 0 {
		_ = s.folder.Remove(revertName)
		_ = s.folder.Remove(journalFolder)
		if text, err := s.folder.ReadFile(ignoreName); err == nil && string(text) == ignoreAll {
			_ = s.folder.Remove(ignoreName)
		}
	}
	release()
	_ = s.folder.Remove(snugFolder) // fails if anything is in it
}

// steps returns the number of changes that recovery counts as: 1 if a change or a revert was interrupted, even if
// only the revert's mark had to be removed.
func steps(interrupted bool) int {
	if interrupted {
		return 1
	}
	return 0
}

// revertDone reverts the last n finished changes and adds them to out.
func (s *Store) revertDone(out *Reverted, n int, force bool) error {
	l, err := s.list()
	if err != nil {
		return err
	}
	all := l.own[done]
	if len(all) == 0 {
		return s.noChange(l.foreign)
	}
	if len(all) < n {
		changes := "changes"
		if len(all) == 1 {
			changes = "change"
		}
		return fmt.Errorf("%s: only %d %s can be undone, not %d; snug revert --list shows them", s.root, len(all), changes, n)
	}
	entries := slices.Clone(all[len(all)-n:])
	slices.Reverse(entries)
	if err := s.checkEdited(entries, force); err != nil {
		return err
	}
	plan := &reverting{Version: journalVersion}
	for _, e := range entries {
		plan.IDs = append(plan.IDs, e.ID)
	}
	if err := s.seal(plan); err != nil {
		return err
	}
	if err := s.writeJSON(revertName, plan); err != nil {
		return err
	}
	if err := s.finishRevert(entries, force); err != nil {
		return fmt.Errorf("%w; run snug revert again to finish", err)
	}
	out.Entries = append(out.Entries, entries...)
	return nil
}

// reverting is the file that lists the changes being reverted. It does not record whether to overwrite files
// edited since: the user decides that when running snug again.
type reverting struct {
	Version int   `json:"version"`
	IDs     []int `json:"ids"`
	owner
}

// checkEdited compares each file with what the newest change to it left. A file that was restored by hand
// is fine. With force, a file that can be overwritten is fine too.
func (s *Store) checkEdited(entries []*Entry, force bool) error {
	seen := map[string]bool{}
	var edited, removed []string
	for _, e := range entries {
		for _, f := range e.Files {
			if seen[f.Path] || f.Backup {
				continue
			}
			seen[f.Path] = true
			now, err := s.leftBy(f.Path)
			switch {
			case err != nil:
				return err
			case force || f.isOld(now) || f.isNew(now):
			case now == nil:
				removed = append(removed, f.Path)
			default:
				edited = append(edited, f.Path)
			}
		}
	}
	if len(edited) > 0 {
		return editedError(edited...)
	}
	if len(removed) > 0 {
		return removedError(removed...)
	}
	return nil
}

// leftBy returns the current content of a file that a change wrote; nil if it was removed. If something else is
// in the file's place, it returns an error: snug does not remove that, even with force.
func (s *Store) leftBy(name string) ([]byte, error) {
	if kind := s.replacedBy(name); kind != "" {
		return nil, fmt.Errorf("%s is now %s, but it was a file when snug changed it; move it away, then use snug revert --force to restore the old file", s.at(name), kind)
	}
	return s.content(name)
}

// replacedBy describes what has replaced a file; "" if it is a regular file or missing.
func (s *Store) replacedBy(name string) string {
	info, err := s.folder.Lstat(name)
	if err != nil || info.Mode().IsRegular() {
		return ""
	}
	return files.Kind(info.Mode())
}

func editedError(files ...string) error {
	return fmt.Errorf("%s: %w snug changed it; --force overwrites it; the .backup file next to it is the old version", strings.Join(files, ", "), ErrEdited)
}

func removedError(files ...string) error {
	return fmt.Errorf("%s: removed since snug changed it; --force restores the old file", strings.Join(files, ", "))
}

// isOld reports whether a file's content, nil if the file is missing, is the same as before the change.
func (f *journalFile) isOld(now []byte) bool {
	return now == nil && f.Before == nil || now != nil && f.Before != nil && digest(now) == digest(f.Before)
}

// isNew reports whether a file is as the change left it.
func (f *journalFile) isNew(now []byte) bool { return now != nil && digest(now) == f.After }

// finishRevert restores the files of changes, newest first, and removes their entries. It can be stopped and
// resumed at any point: an entry is removed only after its files are restored.
func (s *Store) finishRevert(entries []*Entry, force bool) error {
	for _, e := range entries {
		if err := s.restore(e, force); err != nil {
			return err
		}
		if err := s.drop(entryName(e.ID, done)); err != nil {
			return err
		}
	}
	if err := s.folder.Remove(revertName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", s.at(revertName), explain(err))
	}
	// If the removal of the mark is lost, the next snug finds the mark and has nothing to do.
	_ = s.folder.SyncDir(journalFolder)
	return nil
}

// undo reverts a change that was not finished.
func (s *Store) undo(e *Entry, force bool) error {
	if err := s.restore(e, force); err != nil {
		return err
	}
	return s.drop(entryName(e.ID, begun))
}

// restore restores the old files. A file that is neither the old nor the new one was edited by someone and is
// kept.
func (s *Store) restore(e *Entry, force bool) error {
	for _, f := range slices.Backward(e.Files) {
		if err := s.folder.Remove(staged(f.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", s.at(staged(f.Path)), explain(err))
		}
		if err := s.restoreFile(&f, force); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) restoreFile(f *journalFile, force bool) error {
	if f.Backup && s.replacedBy(f.Path) != "" {
		return nil // edited by someone since
	}
	now, err := s.leftBy(f.Path)
	if err != nil {
		return err
	}
	switch {
	case f.isOld(now):
		return nil
	case !f.isNew(now) && f.Backup:
		return nil // edited by someone since
	case !f.isNew(now) && !force && now == nil:
		return removedError(f.Path)
	case !f.isNew(now) && !force:
		return editedError(f.Path)
	case f.Before == nil:
		if err := s.folder.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", f.Path, explain(err))
		}
		return s.folder.SyncDir(path.Dir(f.Path))
	}
	if info, err := s.folder.Lstat(f.Path); err == nil {
		return s.write(f.Path, f.Before, info.Mode().Perm(), f.Path)
	}
	return s.write(f.Path, f.Before, f.mode(), "")
}
