// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

// Notify sends signals to a Session: those that end a run, and the one that pauses it. Under nohup, closing the
// terminal does not end the run.
func Notify(to chan<- os.Signal) {
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(to, syscall.SIGHUP)
	}
	signal.Notify(to, append(pauses(), os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE)...)
}

// Stop undoes Notify: signals have their usual effect again.
func Stop(to chan<- os.Signal) {
	signal.Stop(to)
	pauseAlone()
}

// Signal sends a signal to the whole process group.
func (p *local) Signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-p.cmd.Process.Pid, n)
	}
}

func end(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) }

// inGroup reports whether a process is in a group.
func inGroup(pid, group int) bool {
	g, err := syscall.Getpgid(pid)
	return err == nil && g == group
}

// gone reports whether no process has this ID.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// isMine reports whether the current user owns a file.
func isMine(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(s.Uid) == int64(os.Getuid())
}

// isMyProcess reports whether the current user runs a process.
func isMyProcess(pid int) bool {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil && isMine(info)
}
