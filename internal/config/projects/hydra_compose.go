// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
	"snug/internal/pattern"
)

// This file composes configs like Hydra, according to its documentation of the defaults list. Each entry is a
// file in a group, placed under the group's name unless its header or the entry specifies another key. A file
// overrides its own defaults, unless _self_ gives it another position. An override entry replaces another
// file's choice. Features that need Hydra itself (search paths, structured configs, sweeps) are skipped with
// a note.

// A file without a group may be named any number of times. Its last occurrence overrides the earlier ones, so
// the lists are read from the end, and a file that occurs again under the same key is skipped with all its
// defaults; otherwise thirteen files that name each other twice would become a million layers. Hydra itself
// refuses a group that is chosen twice for one key.

// hydraComposer collects the layers of a Hydra tree.
type hydraComposer struct {
	files     *reader
	root      string            // folder of the main file
	overrides map[string]string // group → option
	layers    []tree.Layer      // the last one first
	seen      map[string]bool   // files, with their keys, that occur later in a list
	notes     []string
	depth     int
	read      int // entries of defaults lists
}

const deepestDefaults = 20

// composeHydra returns the tree of a main file, and notes.
func composeHydra(files *reader, main string, d *doc.Document) (tree.Tree, []string, error) {
	c := &hydraComposer{files: files, root: path.Dir(main), overrides: map[string]string{}}
	if err := c.compose(main, d); err != nil {
		return tree.Tree{}, nil, err
	}
	if len(c.overrides) > 0 { // overrides are known now: compose again with them
		if err := c.compose(main, d); err != nil {
			return tree.Tree{}, nil, err
		}
	}
	if err := files.composed(c.layers); err != nil {
		return tree.Tree{}, nil, fmt.Errorf("%s: %w", main, err)
	}
	slices.Reverse(c.layers)
	slices.Reverse(c.notes)
	return tree.New(c.layers...), c.notes, nil
}

// compose composes everything from the main file.
func (c *hydraComposer) compose(main string, d *doc.Document) error {
	c.layers, c.notes, c.seen, c.read = nil, nil, map[string]bool{}, 0
	return c.add(main, d, "", nil)
}

// add composes one file of a group: its defaults and its own content.
func (c *hydraComposer) add(file string, d *doc.Document, group string, mount doc.Path) error {
	key := strings.Join(append([]string{file, group}, mount...), "\x00")
	if c.seen[key] {
		return nil
	}
	if c.depth++; c.depth > deepestDefaults {
		return fmt.Errorf("%s: its defaults form a cycle", file)
	}
	defer func() { c.depth-- }()
	entries, err := c.entries(file, d)
	if err != nil {
		return err
	}
	self := tree.Layer{File: file, Doc: d, Mount: mount}
	placed := slices.ContainsFunc(entries, defaultsEntry.isSelf)
	if !placed {
		c.layers = append(c.layers, self)
	}
	for _, e := range slices.Backward(entries) {
		if e.isSelf() {
			if placed {
				c.layers, placed = append(c.layers, self), false
			}
			continue
		}
		if err := c.entry(e, file, group, mount); err != nil {
			return err
		}
	}
	c.seen[key] = true // only now, so that a cycle is not taken for a repetition
	return nil
}

// entries returns the entries of a file's defaults list. Their total number is limited.
func (c *hydraComposer) entries(file string, d *doc.Document) ([]defaultsEntry, error) {
	entries, err := defaultsOf(d, maxDefaults)
	if err != nil {
		return nil, err
	}
	if c.files.compose -= 1 + len(entries); c.files.compose < 0 {
		return nil, fmt.Errorf("%s: %w", file, errSpent)
	}
	if c.read += 1 + len(entries); c.read > maxDefaults {
		return nil, fmt.Errorf("%s: the defaults lists have more than %d entries, which is the limit", file, maxDefaults)
	}
	return entries, nil
}

// entry composes the file that one line of a defaults list names.
func (c *hydraComposer) entry(e defaultsEntry, file, group string, mount doc.Path) error {
	in := path.Join(group, e.group)
	if strings.HasPrefix(e.group, "/") {
		in = strings.Trim(e.group, "/")
	}
	if in == "hydra" || strings.HasPrefix(in, "hydra/") {
		return nil
	}
	if e.override {
		if _, chosen := c.overrides[in]; !chosen {
			c.overrides[in] = e.option
		}
		return nil
	}
	if o, ok := c.overrides[in]; ok && e.group != "" {
		e.option = o
	}
	if e.option == "" || strings.Contains(e.option, "${") || strings.Contains(e.option, "???") {
		return nil
	}
	name := path.Join(c.root, in, strings.TrimPrefix(e.option, "/"))
	if e.group == "" && strings.HasPrefix(e.option, "/") {
		name, in = path.Join(c.root, e.option), path.Dir(strings.TrimPrefix(e.option, "/"))
	}
	d, name, err := c.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if !e.optional {
			c.notes = append(c.notes, fmt.Sprintf("%s names %s, which is not in this folder", file, path.Join(in, e.option)))
		}
		return nil
	}
	if err != nil {
		return err
	}
	return c.add(name, d, in, c.mounted(e, d, in, mount))
}

// mounted returns the key that a file is placed under.
func (c *hydraComposer) mounted(e defaultsEntry, d *doc.Document, group string, parent doc.Path) doc.Path {
	pkg := e.pkg
	if pkg == "" {
		if m := packageHeader.Find(d.Text()); m != nil {
			pkg = m[1]
		}
	}
	switch {
	case pkg == "_global_":
		return nil
	case pkg == "_here_":
		return parent
	case strings.HasPrefix(pkg, "_global_."):
		return splitKey(strings.TrimPrefix(pkg, "_global_."), ".")
	case e.pkg != "" && e.pkg != "_group_":
		return parent.Join(splitKey(e.pkg, ".")...)
	case pkg != "" && pkg != "_group_":
		return splitKey(pkg, ".")
	case strings.HasPrefix(e.group, "/"):
		return splitKey(group, "/")
	}
	return parent.Join(splitKey(e.group, "/")...)
}

func splitKey(text, by string) doc.Path {
	text = strings.Trim(text, by)
	if text == "" || text == "." {
		return nil
	}
	return strings.Split(text, by)
}

// packageHeader matches the line that sets the key that a file is placed under.
var packageHeader = pattern.New(`(?m)\A(?:\s*#[^\n]*\n)*?\s*#\s*@package\s+(\S+)`)

// open reads a file of a group, named with or without its extension, and also returns its full name.
func (c *hydraComposer) open(name string) (*doc.Document, string, error) {
	for _, ext := range []string{"", ".yaml", ".yml"} {
		if ext == "" && path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			continue
		}
		d, err := c.files.open(name + ext)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var at *doc.Error
		if err != nil && !errors.As(err, &at) { // an error without a position
			err = fmt.Errorf("reading %s: %w", name+ext, reason(err))
		}
		return d, name + ext, err
	}
	return nil, name, fs.ErrNotExist
}
