// SPDX-License-Identifier: Apache-2.0

package projects

import "snug/internal/config/doc"

// Binding ties a setting to a value in a file.
type Binding struct {
	// Setting is a field of a setup: batch, accumulation, precision, …
	Setting string
	// System is whose convention the file follows: hf, deepspeed, lightning, …
	System string
	// File is relative to the project's folder.
	File string
	// Path is the value's place in the file.
	Path doc.Path
	// Value is what the setting is now, in a setup's terms: an inverted or
	// spelled-out key has been read already.
	Value any
	// Text is the value as the file writes it.
	Text string
	// Line and Column are where it stands.
	Line, Column int
}

// Found is what was found in a folder.
type Found struct {
	Root string // the folder, as its user names it
	// Notes are what a person should know: a value that is computed, a key that
	// is given twice.
	Notes []string

	files   *reader
	Names   []string // of the files that were named, where any were
	Primary *Source  // the file that holds the run's settings, nil where snug.yaml binds all
	Own     *OwnFile // the project's snug.yaml, nil where there is none
	Bound   []Bound  // every key that was found, in the order of settings
	// bySetting is the same by setting, in the same order.
	bySetting   map[string][]Bound
	AbsentFiles []Bound      // keys that name files which are not there
	Unreadable  []BrokenFile // files that might be configurations and could not be read

	Unsearched string // what a search did not read, "" where it read all
}

// Files is the project's files as far as its bounds go.
func (p *Found) Files() Files { return p.files }
