// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"snug/internal/config/doc"
)

// File is one file of a change, before and after.
type File struct {
	// Path is relative to the project's folder, as the user knows it.
	Path string
	// Before is the old content, nil where there was no file.
	Before []byte
	// After is the new content.
	After []byte

	target string      // the file itself, links followed
	info   fs.FileInfo // of the old file
	backup bool        // it is a .backup of another
}

// Change is what is to be written.
type Change struct {
	Files []File
	// Values are the values that change, in the order of the edits.
	Values []Value
	// Warnings are what a person should know before saying yes.
	Warnings []string
}

// Value is one value that changes: From is empty where it is new.
type Value struct {
	File     string
	Path     doc.Path
	Line     int
	From, To string
}

// Plan works out a change without writing anything: every edit is tried, every
// file is looked at. Edits that change nothing leave their file out.
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
	for _, target := range p.order {
		if f := p.files[target]; f.Before == nil || !bytes.Equal(f.Before, f.After) {
			change.Files = append(change.Files, *f)
		}
	}
	return change, nil
}

type planning struct {
	store    *Store
	files    map[string]*File // by target: two names of one file are one
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

// note remembers what an edit changed.
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

// open reads a file that is to be edited, once.
func (p *planning) open(name string) (*File, error) {
	files := p.store.files
	path := p.store.path(name)
	target, err := files.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	if f := p.files[target]; f != nil {
		return f, nil
	}
	info, err := files.Stat(target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	if err := p.writable(name, target, info); err != nil {
		return nil, err
	}
	before, err := files.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	p.warn(name, path, target, info)
	if before == nil {
		before = []byte{}
	}
	f := &File{Path: name, Before: before, After: before, target: target, info: info}
	p.files[target] = f
	p.order = append(p.order, target)
	return f, nil
}

// writable refuses what a rename would overwrite although it says not to.
func (p *planning) writable(name, target string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a plain file", name)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: the file is read-only; make it writable (chmod u+w) or change it by hand", name)
	}
	folder, err := p.store.files.Stat(filepath.Dir(target))
	if err != nil {
		return fmt.Errorf("%s: %w", name, explain(err))
	}
	if folder.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: its folder is read-only; make it writable (chmod u+w)", name)
	}
	return nil
}

// warn says what else is touched.
func (p *planning) warn(name, path, target string, info fs.FileInfo) {
	if l, err := p.store.files.Lstat(path); err == nil && l.Mode()&fs.ModeSymlink != 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%s is a link: %s changes", name, target))
	}
	if n := otherNames(info); n > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%s has %d other names (hard links), which keep the old text", name, n))
	}
}

// create adds a new file.
func (p *planning) create(c Create) error {
	path := p.store.path(c.File)
	folder, err := p.store.files.Resolve(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Dir(c.File), explain(err))
	}
	target := filepath.Join(folder, filepath.Base(path))
	if _, err := p.store.files.Lstat(target); err == nil || p.files[target] != nil {
		return fmt.Errorf("%s: a file of that name is there already", c.File)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", c.File, explain(err))
	}
	p.files[target] = &File{Path: c.File, After: append([]byte{}, c.Content...), target: target}
	p.order = append(p.order, target)
	return nil
}

// explain says in plain words what the system said.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the file is not there")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("no permission")
	}
	return reason(err)
}
