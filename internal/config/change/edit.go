// SPDX-License-Identifier: Apache-2.0

// Package change applies edits to several files as one change: all or nothing, and it can be reverted.
// Package edits works out what to change.
//
// Files are written in this order, so that a crash at any moment leaves either
// the old files or the new ones:
//
//	1  .snug/lock                 keeps out a second snug
//	2  .snug/journal/N.begun      the old and new content of each file (journal.go)
//	3  .name.snug-tmp             each new file next to the old one, synced
//	4  rename over name           one after the other, folders synced
//	5  rename N.begun to N.done   from here on the change is complete
//
// The next snug that finds an N.begun restores the old files first. A revert is
// one file, journal/revert, which is written before anything is restored; the
// next snug that finds it continues where the revert stopped.
package change

import "snug/internal/config/doc"

// Edit is one value to change in one file.
type Edit struct {
	// File is the file's path, relative to the project's folder.
	File string
	// Path is the value's path in the file.
	Path doc.Path
	// Value is the new value: a bool, an int, a float64, a string or nil.
	Value any
	// Insert adds the key if it is missing. Without it a missing key is an
	// error.
	Insert bool
	// Beside is a flag of the shell command that a missing flag is added to.
	Beside doc.Path
	// Valued means that a flag without a value may get one.
	Valued bool
	// Shared allows changing a value that other places use too.
	Shared bool
}

// On returns the document after the edit.
func (e Edit) On(d *doc.Document) (*doc.Document, error) {
	switch {
	case e.Beside != nil && !d.Has(e.Path):
		return d.InsertFlag(e.Path, e.Beside, e.Value)
	case e.Valued:
		return d.SetFlag(e.Path, e.Value)
	case e.Insert && !d.Has(e.Path):
		return d.Insert(e.Path, e.Value)
	case e.Shared:
		return d.SetShared(e.Path, e.Value)
	}
	return d.Set(e.Path, e.Value)
}

// Create is a new file to write, such as a copy of a preset that other projects share.
type Create struct {
	File    string // relative to the folder
	Content []byte // the whole file
}
