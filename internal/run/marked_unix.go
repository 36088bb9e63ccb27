// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package run

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// isolate puts the command into a session of its own. It has no terminal there, and
// learns so at once where it asks for it; in snug's session it would be stopped for
// that, which is not noticed here.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f, ok := cmd.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cmd.Stdin = nil
	}
}

// marked knows of no process beyond the group where the system does not show
// other processes' environments.
func marked(string) []int { return nil }

func marks() map[int]string { return nil }

// unprobed cannot be detected here.
func unprobed(string) bool { return false }

// groupAlive reports whether the group has a process left. Its leader's number is
// not given to another process while it has.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
