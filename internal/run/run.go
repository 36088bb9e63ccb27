// SPDX-License-Identifier: Apache-2.0

// Package run starts the user's training command, unchanged, with snug's probe
// loaded into its Python processes. The command gets its own process group and a
// timeout; its output is passed on and kept, signals are forwarded, and nothing is
// left behind. Package record decides what to run and uses the reports.
//
//	work.go      the private folder of a snug process, and its temporary files next to the user's
//	left.go      removes what a killed snug left behind
//	folder.go    the folder of one run, with the probe and its reports
//	environment.go  the command's environment
//	probe.py     the probe, which runs inside the user's Python processes
//	session.go   one run, from its start to its last process
//	stop.go      ends a run that does not end by itself
//	watcher.go   reads the reports during a run
//	process.go, process_*.go  how this system starts and signals processes
//	marked_*.go, stat_linux.go  find a run's processes by their mark
//	attend.go, terminal_*.go, listener_linux.go  lend the terminal to the command
//	report.go    parses a process's report
//	tail.go      keeps the end of the command's output
//	launcher.go, script_index.go  find out what a command line starts
package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Command is a command to start.
type Command struct {
	Args           []string  // the command and its arguments
	Dir            string    // working directory
	Env            []string  // the complete environment
	Set            []string  // the part of Env written before the command as NAME=value
	Stdin          *os.File  // nil: there is none
	Stdout, Stderr io.Writer // where its output goes
}

// Process is a started command, including everything that it started.
type Process interface {
	// Wait returns when the command has ended and all of its output has been written.
	Wait() Exit
	// Signal sends a signal to the command and its process group.
	Signal(os.Signal)
	// End sends a signal to everything that the command has started.
	End(os.Signal)
	// Sweep ends all remaining processes, by force if necessary; with hurry it does not wait, because they were
	// already asked to end.
	Sweep(hurry bool)
}

// interactive is a process that may need the terminal, which snug keeps until then.
type interactive interface {
	// Attend checks whether the command is waiting for the terminal, and lends it.
	Attend() Asked
	// Typed returns a channel of signals from keys pressed while the command has the terminal.
	Typed() <-chan os.Signal
	// Pause stops the command and snug on Ctrl-Z, and returns when both continue.
	Pause()
}

// placed is a process on another machine. It may have to wait for the machine, and it may be ended from outside.
type placed interface {
	// Waits reports whether the command is not running now. Its time limits are paused meanwhile.
	Waits() bool
	// Fate returns why the process was ended, with a description, or NoFate if it ended by itself.
	Fate() (Fate, string)
}

// Fate is the external cause that ended a run.
type Fate string

// The fates.
const (
	NoFate     Fate = ""            // it ended by itself
	Canceled   Fate = "canceled"    // by a user or an administrator
	Preempted  Fate = "preempted"   // another job needed the machine
	NodeFailed Fate = "node failed" // the machine was lost
	TimeLimit  Fate = "time limit"  // it exceeded the time it had requested
	HostMemory Fate = "host memory" // it used more CPU memory than it had requested
)

// Lost reports whether the run was ended by something that has nothing to do with its command.
func (f Fate) Lost() bool { return f == Canceled || f == Preempted || f == NodeFailed }

// waits reports whether a process has not started yet, or is suspended.
func waits(p Process) bool {
	x, ok := p.(placed)
	return ok && x.Waits()
}

// Asked is the result of a command's request for the terminal.
type Asked int

// The possible results.
const (
	NotAsked    Asked = iota // the command did not request it
	Lent                     // the command has it now
	NotLendable              // snug itself does not have it, because it is in the background
)

// Runner starts commands. Tests use their own Runner.
type Runner interface {
	// Start starts a command. The Process outlives the call; the context ends it.
	Start(context.Context, Command) (Process, error)
}

// Exit is how a command ended.
type Exit struct {
	Code   int            // as a shell reports it: 128 + n for signal n
	Signal syscall.Signal // the signal that ended it, if any
}

// Crashed reports whether the command was ended by a signal for a fault or for lack of memory, even if a shell in
// between reports it.
func (e Exit) Crashed() bool {
	switch e.Code - 128 {
	case 4, 6, 7, 8, 9, 11: // ILL, ABRT, BUS, FPE, KILL, SEGV
		return true
	}
	return false
}

// String describes the exit.
func (e Exit) String() string {
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(e.Signal), e.Signal)
	case e.Code == 0:
		return "ended"
	}
	return fmt.Sprintf("failed with exit code %d", e.Code)
}
