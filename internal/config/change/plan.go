// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"snug/internal/config/doc"
	"snug/internal/files"
)

// File is one file of a change, before and after.
type File struct {
	// Path is the file with links followed, relative to the project's folder.
	Path string
	// Before is the old content, nil if there was no file.
	Before []byte
	// After is the new content.
	After []byte

	info   fs.FileInfo // describes the old file
	like   string      // the file whose owner and attributes are copied; "" for none
	backup bool        // it is the .backup of another file
}

// Change is what will be written.
type Change struct {
	Files []File // the files to change
	// Values are the values that change, in the order of the edits.
	Values []Value
	// Warnings are what the user should know before confirming.
	Warnings []string
}

// Value is one value that changes. From is empty if the value is new.
type Value struct {
	File     string   // relative to the folder
	Path     doc.Path // path of the value in the file
	Line     int      // counts from 1
	From, To string   // the old and the new value as text
}

// Plan returns a change without writing anything: every edit is tried, every file is checked. Files that
// would not change are omitted.
func (s *Store) Plan(edits []Edit, creates []Create) (*Change, error) {
	p := planning{store: s, files: map[string]*File{}}
	for _, e := range edits {
		if err := p.edit(e); err != nil {
			return nil, err
		}
	}
	for _, c := range creates {
		if err := p.create(c); err != nil {
			return nil, err
		}
	}
	change := &Change{Warnings: p.warnings, Values: p.values}
	for _, name := range p.order {
		if f := p.files[name]; f.Before == nil || !bytes.Equal(f.Before, f.After) {
			change.Files = append(change.Files, *f)
		}
	}
	return change, nil
}

// Rewrite is a file whose text changes in several places at once, such as a script that lint repairs.
type Rewrite struct {
	File          string // relative to the folder
	Before, After []byte // the whole file, as read and as it will be
}

// PlanRewrites returns a change that replaces whole files. It returns an error if a file has changed since it was
// read.
func (s *Store) PlanRewrites(list []Rewrite) (*Change, error) {
	p := planning{store: s, files: map[string]*File{}}
	for _, r := range list {
		f, err := p.open(r.File)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(f.Before, r.Before) {
			return nil, fmt.Errorf("%s: the file changed while snug read it; run snug again", r.File)
		}
		f.After = r.After
	}
	change := &Change{Warnings: p.warnings}
	for _, name := range p.order {
		change.Files = append(change.Files, *p.files[name])
	}
	return change, nil
}

type planning struct {
	store    *Store
	files    map[string]*File // by path, so that two names of one file are one entry
	order    []string
	values   []Value
	warnings []string
}

// edit adds one edit.
func (p *planning) edit(e Edit) error {
	f, err := p.open(e.File)
	if err != nil {
		return err
	}
	d, err := doc.Open(e.File, f.After)
	if err != nil {
		return err
	}
	edited, err := e.On(d)
	if err != nil {
		return err
	}
	f.After = edited.Bytes()
	return p.note(e, d, edited)
}

// note adds the value that an edit changed.
func (p *planning) note(e Edit, before, after *doc.Document) error {
	now, err := after.Find(e.Path)
	if err != nil {
		return err
	}
	v := Value{File: e.File, Path: e.Path, Line: now.Line, To: now.Text}
	if was, err := before.Find(e.Path); err == nil {
		v.From = was.Text
	}
	if v.From != v.To {
		p.values = append(p.values, v)
	}
	return nil
}

// open returns a file to be edited, and reads it the first time.
func (p *planning) open(name string) (*File, error) {
	folder := p.store.folder
	target, err := p.store.inside(name)
	if err != nil {
		return nil, err
	}
	if f := p.files[target]; f != nil {
		return f, nil
	}
	info, err := folder.Lstat(target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	if err := p.writable(name, target, info); err != nil {
		return nil, err
	}
	before, err := folder.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	p.warn(name, target, info)
	if before == nil {
		before = []byte{}
	}
	return p.add(&File{Path: target, Before: before, After: before, info: info, like: target}), nil
}

func (p *planning) add(f *File) *File {
	p.files[f.Path] = f
	p.order = append(p.order, f.Path)
	return f
}

// inside returns the file that a name refers to. It must be inside the project.
func (s *Store) inside(name string) (string, error) {
	target, err := s.folder.Resolve(name)
	if errors.Is(err, ErrOutside) {
		return "", fmt.Errorf("%s: %w (%s), where snug does not write; copy it into the project, or run snug with --dir on the folder it belongs to", name, err, s.folder.Path())
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, explain(err))
	}
	if err := checkPath(target); err != nil && target != "." {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return target, nil
}

// writable returns an error for a read-only file, because a rename would overwrite it.
func (p *planning) writable(name, target string, info fs.FileInfo) error {
	if err := files.Regular(info); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: the file is read-only; make it writable (chmod u+w) or change it by hand", name)
	}
	folder, err := p.store.folder.Lstat(path.Dir(target))
	if err != nil {
		return fmt.Errorf("%s: %w", name, explain(err))
	}
	if folder.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: its folder is read-only; make it writable (chmod u+w)", name)
	}
	return nil
}

// warn adds warnings about links to the file.
func (p *planning) warn(name, target string, info fs.FileInfo) {
	if target != path.Clean(name) && target != filepath.ToSlash(name) {
		p.warnings = append(p.warnings, fmt.Sprintf("%s is a link; the change is made in %s", name, target))
	}
	if n := otherNames(info); n > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%s has %d other names (hard links), which keep the old text", name, n))
	}
}

// create adds a new file.
func (p *planning) create(c Create) error {
	folder, err := p.store.inside(path.Dir(filepath.ToSlash(c.File)))
	if err != nil {
		return err
	}
	target := path.Join(folder, path.Base(filepath.ToSlash(c.File)))
	if _, err := p.store.folder.Lstat(target); err == nil || p.files[target] != nil {
		return fmt.Errorf("%s: the file already exists", c.File)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", c.File, explain(err))
	}
	p.add(&File{Path: target, After: append([]byte{}, c.Content...)})
	return nil
}

// explain returns a system error in plain words.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the file does not exist")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("no permission")
	}
	return plainError(err)
}
