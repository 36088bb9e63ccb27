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
	Root string
	// Notes are what a person should know: a value that is computed, a key that
	// is given twice.
	Notes []string

	Files   *reader
	Names   []string // of the files that were named, where any were
	Primary *Source
	Own     *OwnFile
	Bound   []Bound
	// bySetting is the same by setting, in the same order.
	bySetting   map[string][]Bound
	AbsentFiles []Bound      // keys that name files which are not there
	Unreadable  []BrokenFile // files that might be configurations and could not be read

	Unsearched string // what a search did not read, "" where it read all
}
