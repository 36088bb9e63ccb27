// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/setup"
)

// With returns the project with settings written to its files. It reads the edited files again, because a key can
// affect other settings too.
func (p *Project) With(want setup.Values) (*Project, error) {
	plan, err := p.Change(want)
	if err != nil {
		return nil, err
	}
	files := edited{p.Files(), map[string][]byte{}}
	for _, c := range plan.Creates {
		files.content[path.Clean(c.File)] = c.Content
	}
	for _, e := range plan.Edits {
		data, err := files.ReadFile(e.File)
		if err != nil {
			return nil, err
		}
		before, err := doc.Open(e.File, data)
		if err != nil {
			return nil, err
		}
		after, err := e.On(before)
		if err != nil {
			return nil, err
		}
		files.content[path.Clean(e.File)] = after.Bytes()
	}
	q, err := Open(files, p.Root, p.Names...)
	if err != nil {
		return nil, err
	}
	q.CopySettings(p.Run)
	return q, nil
}

// edited overlays new content on some files.
type edited struct {
	projects.Files
	content map[string][]byte
}

// Inside reports whether a file is inside the project, regardless of new content.
func (f edited) Inside(name string) bool { return projects.Inside(f.Files, name) }

// ReadFile returns the new content of a file, or its content on disk.
func (f edited) ReadFile(name string) ([]byte, error) {
	if data, ok := f.content[path.Clean(name)]; ok {
		return data, nil
	}
	return f.Files.ReadFile(name)
}
