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

// Env is the outside world as a session sees it. The comment of a field says what nil means.
type Env struct {
	Stdin          *os.File                             // standard input of the command; nil: none
	Stdout, Stderr io.Writer                            // the command's output; nil discards it
	Environ        func() []string                      // the environment of the command; nil: empty
	LookupEnv      func(string) (string, bool)          // a variable of that environment; nil: none is set
	GPUs           []gpu.Source                         // ways to ask which GPUs are here
	Files          Files                                // the user's files; nil: those of this machine
	TempDir        string                               // for the session's private folder; "": the system's place
	Runner         run.Runner                           // starts the command; nil: on this machine
	Signals        Signals                              // nil: those of this process
	Store          func() (Store, error)                // opens the measurement store; nil: nothing is stored
	Now            func() time.Time                     // nil: the clock of this machine
	After          func(time.Duration) <-chan time.Time // waits; nil: by the clock of this machine
	Events         Events                               // called when something happens
}

// Files is the file system that the command will see. Names are absolute, or
// relative to the folder that the command runs in.
type Files interface {
	// Open opens a file for reading.
	Open(name string) (fs.File, error)
	// ReadFile returns the content of a file.
	ReadFile(name string) ([]byte, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat describes a file, following links.
	Stat(name string) (fs.FileInfo, error)
	// Inside reports whether a file is in the folder that the command runs in when all links are followed.
	Inside(name string) bool
	// Abs returns the absolute path of a file.
	Abs(name string) (string, error)

	// MkdirAll makes a folder and those above it.
	MkdirAll(name string, mode fs.FileMode) error
	// WriteFile writes a file, replacing an old one.
	WriteFile(name string, data []byte, mode fs.FileMode) error
}

// Signals delivers signals to a session, and handles Ctrl-Z.
type Signals interface {
	// Notify sends the signals that end or pause a run to a channel.
	Notify(chan<- os.Signal)
	// Stop ends Notify: signals have their usual effect again.
	Stop(chan<- os.Signal)
	// Pause stops snug as Ctrl-Z requests, and returns when it continues; false if it was another signal.
	Pause(os.Signal, chan<- os.Signal) bool
}

// Store keeps what was measured.
type Store interface {
	// Add stores measured runs.
	Add(...store.Run) error
	// Close closes the store.
	Close() error
}

// withDefaults fills nil fields with this machine's.
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
