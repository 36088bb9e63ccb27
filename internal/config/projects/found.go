// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"snug/internal/config/branches"
	"snug/internal/config/doc"
)

// Binding ties a setting to a value in a file.
type Binding struct {
	// Setting is a field of a setup: batch, accumulation, precision, …
	Setting string
	// System is the system whose keys the file has: hf, deepspeed, lightning, …
	System string
	// File is relative to the project's folder.
	File string
	// Path is the value's path in the file.
	Path doc.Path
	// Value is the current value in the setup's terms, after converting inverted keys and words.
	Value any
	// Text is the value as written in the file.
	Text string
	// Line and Column are its position.
	Line, Column int
}

// Found is the configuration found in a folder.
type Found struct {
	Root string // the folder, as the user named it
	// Notes are for the user, on computed values or repeated keys for example.
	Notes []string

	files   *reader
	Names   []string // the files that the user named, if any
	Primary *Source  // the file with the run's settings; nil if snug.yaml binds all
	Program *Source  // the only program that a shell script trains with, or that reads a trainer's arguments; nil if it is not in the folder
	Starter *Source  // the shell script that starts the program with the run's settings; nil if there is none
	Own     *OwnFile // the project's snug.yaml, or nil
	Bound   []Bound  // every key that was found, sorted by setting
	// bySetting contains the bindings by setting, in the same order.
	bySetting map[string][]Bound
	// ambiguous contains a note for each setting for which several keys qualify.
	ambiguous   map[string]string
	AbsentFiles []Bound      // keys that name missing files
	Unreadable  []BrokenFile // possible configurations that could not be read

	Defaults string // the program whose flag defaults are read as settings; "" if there is none
	Flagged  string // a named program that takes its settings from flags; the script that starts it is read instead
	// Documented is the command in a named program's docstring that is read as its settings; nil if there is none.
	Documented *Documentation
	Unsearched string // what a search did not read, "" if it read all

	overridden *overrides // what the flags of a script change in the main file; nil if no script starts it with flags

	executed map[string]func() *branches.Program // the programs of the run, each read once
}

// Ambiguous returns a note if several keys qualify for the setting, or "".
func (p *Found) Ambiguous(setting string) string {
	if len(p.BindingsOf(setting)) > 0 {
		return ""
	}
	return p.ambiguous[setting]
}

// Files returns the project's files, within the limits.
func (p *Found) Files() Files { return p.files }
