// SPDX-License-Identifier: Apache-2.0

// Package change applies edits of several files as one: all or nothing, with a
// way back.
package change

import "snug/internal/config/doc"

// Edit is one value to change in one file.
type Edit struct {
	// File is the file's path, relative to the project's folder.
	File string
	// Path is the value's place in the file.
	Path doc.Path
	// Value is the new value: a bool, an int, a float64, a string or nil.
	Value any
	// Insert adds the key where it is missing. Without it a missing key is an
	// error.
	Insert bool
	// Shared allows a value to change that other places use too.
	Shared bool
}

// Create is a file to write that is not there yet, such as a copy of a preset
// that other projects share.
type Create struct {
	File    string
	Content []byte
}
