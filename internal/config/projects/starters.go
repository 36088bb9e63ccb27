// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// maxStarters limits how many scripts are searched for the command that starts a program.
const maxStarters = 300

// onlyStarter returns the script that starts a program that takes its settings from flags, or nil unless the folder has
// exactly one.
func (p *Found) onlyStarter(name string) *Source {
	data, err := p.files.ReadFile(name)
	if format, _ := doc.FormatOf(name, data); err != nil || format != doc.Python || !parsesFlags.In(string(data)) {
		return nil
	}
	found := p.starters(name)
	if len(found) != 1 {
		return nil
	}
	s, _, err := readSource(p.files, found[0], false)
	if err != nil || s == nil {
		return nil
	}
	p.Flagged = name
	return s
}

// starters returns the folder's shell scripts that start this program and no other training program.
func (p *Found) starters(program string) []string {
	files, _, err := scan(p.files)
	if err != nil {
		return nil
	}
	files = slices.DeleteFunc(files, func(f candidateFile) bool {
		format, _ := doc.FormatOf(f.name, nil)
		return format != doc.Shell
	})
	var out []string
	for _, f := range files[:min(len(files), maxStarters)] {
		data, err := p.files.ReadFile(f.name)
		if err != nil || !bytes.Contains(data, []byte(path.Base(program))) {
			continue
		}
		if d, err := openFile(p.files, f.name, data); err == nil && startsOnly(f.name, d, program) {
			out = append(out, f.name)
		}
	}
	return out
}

// startsOnly reports whether this is the only program that a script starts with a trainer's flags.
func startsOnly(name string, d *doc.Document, program string) bool {
	s := NewSource(name, systems.Shell(), tree.New(tree.Layer{File: name, Doc: d}))
	starts := false
	for _, of := range s.Started() {
		if !slices.Contains(placesOf(name, strings.TrimSuffix(of.Name, ".py")+".py"), program) {
			return false
		}
		starts = true
	}
	return starts
}
