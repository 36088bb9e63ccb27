// SPDX-License-Identifier: Apache-2.0

// Package crash is for tests of what survives: it runs a program and kills it, or
// has one of its system calls fail, at a chosen one of those that change something
// outside the program: files, their locks, other processes. Nothing in the program
// knows of it, so that nothing is left out.
package crash

import (
	"errors"
	"syscall"
)

// ErrUnsupported is where programs cannot be traced so.
var ErrUnsupported = errors.New("programs cannot be traced here")

// Program is what to run. Its standard input is empty.
type Program struct {
	Path   string
	Args   []string // with its name
	Env    []string
	Dir    string
	Output string // the file for what it prints
}

// Kind is what happens at a call.
type Kind int

// What may happen at a call.
const (
	Nothing Kind = iota // it is counted
	Kill                // the program is killed before it
	Tear                // half of what it writes is written, then the program is killed
	Fail                // it fails
)

// Fault is what happens, at which call, counted from 1.
type Fault struct {
	Kind  Kind
	At    int
	Errno syscall.Errno // of a Fail
}

// Result is how it went.
type Result struct {
	Calls int    // that changed something, up to the end
	Call  string // the one that the fault was at, "" where the program ended before
	Code  int    // the program's exit code, -1 where it was killed
}
