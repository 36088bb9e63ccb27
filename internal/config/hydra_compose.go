// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// Hydra's composition, as its documentation of the defaults list says: each
// entry is a file of a group, put under the group's name unless its header or
// the entry says otherwise; a file is laid over its own defaults, unless _self_
// gives it another place; an override replaces the choice that another file
// made. What needs Hydra itself (search paths, structured configs, sweeps) is
// left out, with a note.

// hydraComposer collects the layers of a Hydra tree.
type hydraComposer struct {
	files     Files
	root      string            // folder of the main file
	overrides map[string]string // group → option
	layers    []layer
	notes     []string
	depth     int
}

const deepestDefaults = 20

// composeHydra reads the tree of a main file.
func composeHydra(files Files, main string, d *doc.Document) (tree, []string, error) {
	c := &hydraComposer{files: files, root: path.Dir(main), overrides: map[string]string{}}
	if err := c.add(main, d, "", nil); err != nil {
		return tree{}, nil, err
	}
	if len(c.overrides) > 0 { // known now: once more, with them
		c.layers, c.notes = nil, nil
		if err := c.add(main, d, "", nil); err != nil {
			return tree{}, nil, err
		}
	}
	return newTree(c.layers...), c.notes, nil
}

// add composes one file of a group: its defaults, and itself among them.
func (c *hydraComposer) add(file string, d *doc.Document, group string, mount doc.Path) error {
	if c.depth++; c.depth > deepestDefaults {
		return fmt.Errorf("%s: its defaults lead in a circle", file)
	}
	defer func() { c.depth-- }()
	self := layer{file, d, mount}
	entries, err := defaultsOf(d)
	if err != nil {
		return err
	}
	placed := false
	for _, e := range entries {
		if e.option == "_self_" && e.group == "" {
			c.layers, placed = append(c.layers, self), true
			continue
		}
		if err := c.entry(e, file, group, mount); err != nil {
			return err
		}
	}
	if !placed {
		c.layers = append(c.layers, self)
	}
	return nil
}

// entry composes what one line of a defaults list names.
func (c *hydraComposer) entry(e defaultsEntry, file, group string, mount doc.Path) error {
	in := path.Join(group, e.group)
	if strings.HasPrefix(e.group, "/") {
		in = strings.Trim(e.group, "/")
	}
	if in == "hydra" || strings.HasPrefix(in, "hydra/") {
		return nil
	}
	if e.override {
		c.overrides[in] = e.option
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

// mounted is the key that a file is put under.
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

// packageHeader is the first line of a file that says where it goes.
var packageHeader = pattern.New(`(?m)\A(?:\s*#[^\n]*\n)*?\s*#\s*@package\s+(\S+)`)

// open reads a file of a group, with or without its extension.
func (c *hydraComposer) open(name string) (*doc.Document, string, error) {
	for _, ext := range []string{"", ".yaml", ".yml"} {
		if ext == "" && path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			continue
		}
		data, err := c.files.ReadFile(name + ext)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, name, err
		}
		d, err := doc.OpenAs(name+ext, doc.YAML, data)
		return d, name + ext, err
	}
	return nil, name, fs.ErrNotExist
}
