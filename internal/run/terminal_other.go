// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package run

import (
	"os"
	"os/exec"
)

// terminal is empty on systems where a process that waits for the terminal cannot be distinguished from
// one that works: commands run without a terminal there.
type terminal struct{}

func openTerminal() *terminal { return nil }

func (*terminal) takeBack() {}

func (*terminal) close() {}

// pauses returns the signals that pause a run: none, and Ctrl-Z stops snug alone.
func pauses() []os.Signal { return nil }

func isPause(os.Signal) bool { return false }

func pauseAlone() {}

// Paused reports whether a signal was that of Ctrl-Z.
func Paused(os.Signal, chan<- os.Signal) bool { return false }

func start(cmd *exec.Cmd) error { return cmd.Start() }
