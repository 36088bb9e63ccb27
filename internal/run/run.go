// SPDX-License-Identifier: Apache-2.0

// Package run starts the user's training command with snug's probe in front of
// it, unchanged otherwise: in a process group of its own, with a time-out, its
// output passed on and kept, signals forwarded, and nothing left behind.
//
//	folder.go    the private folder: the probe goes in, reports come out
//	left.go      what a snug that was killed has left behind
//	probe.py     what runs inside the user's Python processes
//	session.go   one run, from its start to its last process
//	process_*.go how this system starts, signals and finds processes
//	report.go    what a process has told
//	launcher.go  what a command line starts
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Command is what to start.
type Command struct {
	Args           []string
	Dir            string
	Env            []string // all of it
	Stdout, Stderr io.Writer
}

// Process is a started command with everything it started in turn.
type Process interface {
	// Wait returns when the command has ended and its output is through.
	Wait() Exit
	// Signal reaches the command and its process group.
	Signal(os.Signal)
	// Sweep ends whatever of it is left, the hard way at last.
	Sweep()
}

// Runner starts commands. Tests have their own.
type Runner interface {
	Start(context.Context, Command) (Process, error)
}

// Exit is how a command ended.
type Exit struct {
	Code   int            // as the shell would have it: 128 + n for signal n
	Signal syscall.Signal // that ended it, if one did
}

// Crashed says whether a signal ended the command that stands for a fault or
// for memory run out, be it told by a shell in between.
func (e Exit) Crashed() bool {
	switch e.Code - 128 {
	case 4, 6, 7, 8, 9, 11: // ILL, ABRT, BUS, FPE, KILL, SEGV
		return true
	}
	return false
}

// String says it in words.
func (e Exit) String() string {
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(e.Signal), e.Signal)
	case e.Code == 0:
		return "ended"
	}
	return fmt.Sprintf("failed with exit code %d", e.Code)
}
