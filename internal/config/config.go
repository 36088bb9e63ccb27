// SPDX-License-Identifier: Apache-2.0

// Package config finds the settings that determine GPU memory in training configs and scripts, with the
// position of each, and works out the edits that would change them.
//
// It is a thin layer over four packages, each of which imports only those before it: systems has a table
// for each trainer's files, projects finds and reads files with those tables, meaning turns the values
// into a training run, and edits plans changes. Package change writes the changes; nothing here writes a
// file.
package config

import (
	"snug/internal/config/edits"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/setup"
)

// Project is a folder with the configuration of a training run.
type Project struct{ *meaning.Run }

// Open finds the settings of a project: in the named files, or else in any file in its folder. A snug.yaml
// there takes precedence.
func Open(files projects.Files, root string, names ...string) (*Project, error) {
	found, err := projects.Find(files, root, names...)
	if err != nil {
		return nil, err
	}
	return &Project{meaning.New(found)}, nil
}

// Change works out the edits that change settings in every file that contains them. It returns all edits, or
// an error that names the setting that cannot be changed.
func (p *Project) Change(want setup.Values) (edits.Plan, error) { return edits.New(p.Run, want) }
