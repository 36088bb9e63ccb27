// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// adopt replaces the bindings that were found with those of a snug.yaml.
func (p *Found) adopt(own *OwnFile) error {
	p.Own = own
	open := map[string]*Source{}
	replaced := map[string]bool{}
	for _, b := range own.Bind {
		s := open[b.file]
		if s == nil {
			data, err := p.files.ReadFile(b.file)
			if err != nil {
				return fmt.Errorf("%s binds %s to %s: %w", b.where, b.Setting, b.file, reason(err))
			}
			d, err := openFile(p.files, b.file, data)
			if err != nil {
				return err
			}
			s = NewSource(b.file, systems.SnugFile(), tree.New(tree.Layer{File: b.file, Doc: d}))
			open[b.file] = s
		}
		k, err := OwnKey(b)
		if err != nil {
			return err
		}
		found, err := s.bound(k, b.Path)
		if err != nil {
			return err
		}
		if found == nil {
			_, missing := s.Tree.Layers[0].Doc.Find(b.Path)
			return fmt.Errorf("%s binds %s to a missing key: %w", b.where, b.Setting, missing)
		}
		if !replaced[b.Setting] {
			p.unbind(b.Setting)
			replaced[b.Setting] = true
		}
		p.Notes = append(p.Notes, found.notes()...)
		p.bind(*found)
	}
	return nil
}

// WithLinks is implemented by Files that may contain symbolic links.
type WithLinks interface {
	// Inside reports whether a file is in the project's folder when all links are followed.
	Inside(name string) bool
}

// Inside reports whether a file is in the project's folder, also when links are followed.
func Inside(files Files, name string) bool {
	if f, ok := files.(WithLinks); ok {
		return f.Inside(name)
	}
	return fs.ValidPath(path.Clean(name))
}

// Confine returns an error if a snug.yaml names files outside the project's folder. The snug.yaml may be
// someone else's, and the values that it binds are printed.
func (own *OwnFile) Confine(files Files) error {
	const todo = "outside the project's folder; copy the file into it, or run snug with --dir on a folder that contains both"
	for _, name := range own.Files {
		if !Inside(files, name) {
			return fmt.Errorf("%s: files names %s, %s", SnugFile, name, todo)
		}
	}
	for _, b := range own.Bind {
		if !Inside(files, b.file) {
			return fmt.Errorf("%s binds %s to %s, %s", b.where, b.Setting, b.file, todo)
		}
	}
	return nil
}

// OwnKey returns the key with which a bound value is read.
func OwnKey(b OwnBinding) (*systems.Key, error) {
	s, err := systems.SettingNamed(b.Setting)
	if err != nil {
		return nil, err
	}
	if b.Not && s.Kind != systems.Switch {
		return nil, errors.New(b.where + ": \"not\" applies only to true and false; " + b.Setting + " is a " + string(s.Kind))
	}
	k := s.BoundKey(b.Path)
	k.Inverted, k.Source = b.Not, SnugFile
	return k, nil
}
