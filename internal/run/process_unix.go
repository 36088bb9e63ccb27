// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"errors"
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

// gone says whether no process has that number.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// isMine says whether the user who runs this owns a file.
func isMine(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(s.Uid) == int64(os.Getuid())
}

// tryLock locks a file for as long as it is open, unless another process has.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
