// SPDX-License-Identifier: Apache-2.0

package record

import (
	"io"
	"io/fs"
	"os"
	"time"

	"snug/internal/gpu"
	"snug/internal/run"
	"snug/internal/store"
)

// Env is a session's access to the outside world. Each field's comment says what nil means.
type Env struct {
	Stdin          *os.File                             // the command's standard input; nil: none
	Stdout, Stderr io.Writer                            // the command's output; nil discards it
	Environ        func() []string                      // the command's environment; nil: empty
	LookupEnv      func(string) (string, bool)          // a variable in that environment; nil: none is set
	GPUs           []gpu.Source                         // ways to find this machine's GPUs
	Files          Files                                // the user's files; nil: this machine's
	TempDir        string                               // parent of the session's private folder; "": the system default
	Runner         run.Runner                           // starts the command; nil: on this machine
	Signals        Signals                              // nil: this process's signals
	Store          func() (Store, error)                // opens the measurement store; nil: nothing is stored
	Now            func() time.Time                     // nil: this machine's clock
	After          func(time.Duration) <-chan time.Time // a timer; nil: this machine's clock
	Events         Events                               // callbacks that report progress
}

// Files is the file system that the command will see. Names are absolute or relative to the folder that the command
// runs in.
type Files interface {
	// Open opens a file for reading.
	Open(name string) (fs.File, error)
	// ReadFile returns the content of a file.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat describes a file, following links.
	Stat(name string) (fs.FileInfo, error)
	// Inside reports whether a file, with all links followed, is in the folder that the command runs in.
	Inside(name string) bool
	// Abs returns the absolute path of a file.
	Abs(name string) (string, error)

	// MkdirAll creates a folder and any missing parents.
	MkdirAll(name string, mode fs.FileMode) error
	// WriteFile writes a file, replacing an existing one.
	WriteFile(name string, data []byte, mode fs.FileMode) error
}

// Signals delivers signals to a session, and handles Ctrl-Z.
type Signals interface {
	// Notify sends the signals that end or pause a run to a channel.
	Notify(chan<- os.Signal)
	// Stop undoes Notify: signals have their usual effect again.
	Stop(chan<- os.Signal)
	// Pause stops snug on Ctrl-Z and returns true once it resumes; it returns false for any other signal.
	Pause(os.Signal, chan<- os.Signal) bool
}

// Store stores measured runs.
type Store interface {
	// Add stores measured runs.
	Add(...store.Run) error
	// Close closes the store.
	Close() error
}

// withDefaults replaces nil fields with this machine's defaults.
func (e Env) withDefaults() Env {
	if e.Stdout == nil {
		e.Stdout = io.Discard
	}
	if e.Stderr == nil {
		e.Stderr = io.Discard
	}
	if e.Environ == nil {
		e.Environ = func() []string { return nil }
	}
	if e.LookupEnv == nil {
		e.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if e.Files == nil {
		e.Files = localFiles{}
	}
	if e.Signals == nil {
		e.Signals = processSignals{}
	}
	if e.Now == nil {
		e.Now = localClock
	}
	if e.After == nil {
		e.After = localTimer
	}
	return e
}
