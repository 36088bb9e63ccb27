// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package run

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// isolate puts the command into its own session, without a terminal, so that it gets an error at once if it requests
// one. In snug's session it would be stopped instead, which snug would not notice.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f, ok := cmd.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cmd.Stdin = nil
	}
}

// marked returns nothing, because this system does not show other processes' environments.
func marked(string) []int { return nil }

func marks() map[int]string { return nil }

// unprobed returns false, because this cannot be detected here.
func unprobed(string) bool { return false }

// groupAlive reports whether the group has a process left. While it has, its leader's process ID is not reused.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
