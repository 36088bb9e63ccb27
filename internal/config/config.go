// SPDX-License-Identifier: Apache-2.0

// Package config finds, in the files that people train from, the settings that
// decide over memory, each with where it stands, and says which edits would
// change them.
//
// It is the door to four rooms, each of which knows those before it and none after:
// systems, the tables of what each trainer's files look like; projects, which finds
// and reads files by them; meaning, what the values say of a run; and edits, the
// changes that would make files say something else.
package config

import (
	"snug/internal/config/edits"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/setup"
)

// Project is a folder with the configuration of a training run.
type Project struct{ *meaning.Run }

// Open finds the settings of a project: in the files that are named, or else in
// whatever its folder holds. A snug.yaml there has the first word.
func Open(files projects.Files, root string, names ...string) (*Project, error) {
	found, err := projects.Find(files, root, names...)
	if err != nil {
		return nil, err
	}
	return &Project{meaning.New(found)}, nil
}

// Change works out the edits that give settings new values, in every file that
// holds them: all of them, or an error that says which one cannot be.
func (p *Project) Change(want setup.Values) (edits.Plan, error) { return edits.New(p.Run, want) }
