// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"os"
	"os/exec"
	"syscall"
)

func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Signal reaches the whole process group.
func (p *local) Signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-p.cmd.Process.Pid, n)
	}
}

func end(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) }

// groupAlive says whether the group has a process left. Its leader's number is
// not given to another process while it has.
func groupAlive(group int) bool { return syscall.Kill(-group, 0) == nil }
