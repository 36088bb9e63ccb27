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
