// SPDX-License-Identifier: Apache-2.0

// Package crash tests what survives a crash. It runs a program and, at a chosen system call that changes
// something outside the program (a file, a lock, another process), kills it or makes the call fail. The
// program needs no hooks, so no call is missed. It works on Linux on amd64 only.
package crash

import (
	"errors"
	"syscall"
)

// ErrUnsupported means that programs cannot be traced on this system.
var ErrUnsupported = errors.New("programs cannot be traced here")

// Program is the program to run. Its standard input is empty.
type Program struct {
	Path   string   // of the executable
	Args   []string // including its name
	Env    []string // its environment, NAME=value
	Dir    string   // its working directory
	Output string   // the file for its output
}

// Kind is what happens at a call.
type Kind int

// The kinds of faults.
const (
	Nothing Kind = iota // calls are only counted
	Kill                // the program is killed before the call
	Tear                // half of the data is written, then the program is killed
	Fail                // the call fails
)

// Fault describes what happens, and at which call.
type Fault struct {
	Kind  Kind          // what happens: a kill or an error
	At    int           // the number of the system call, from 1
	Errno syscall.Errno // the error of a Fail
}

// Result is the outcome.
type Result struct {
	Calls int    // the number of calls that changed something
	Call  string // the call with the fault, "" if the program ended before it
	Code  int    // the program's exit code, -1 if it was killed
}
