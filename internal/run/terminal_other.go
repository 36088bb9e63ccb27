// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package run

import (
	"os"
	"os/exec"
)

// terminal is empty on systems where a process that waits for the terminal cannot be distinguished from one that
// works: commands there run without a terminal.
type terminal struct{}

func openTerminal() *terminal { return nil }

func (*terminal) takeBack() {}

func (*terminal) close() {}

// pauses returns the signals that pause a run: none, because Ctrl-Z stops only snug here.
func pauses() []os.Signal { return nil }

func isPause(os.Signal) bool { return false }

func pauseAlone() {}

// Paused reports whether a signal was Ctrl-Z's.
func Paused(os.Signal, chan<- os.Signal) bool { return false }

func start(cmd *exec.Cmd) error { return cmd.Start() }
