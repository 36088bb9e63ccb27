// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Signal ends the command and everything it started: Windows has no gentler way that reaches another console group.
func (p *local) Signal(os.Signal) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run()
}

// Notify sends signals to a Session.
func Notify(to chan<- os.Signal) {
	signal.Notify(to, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// Stop undoes Notify.
func Stop(to chan<- os.Signal) { signal.Stop(to) }

func end(int, syscall.Signal) {}

func inGroup(int, int) bool { return true }

func groupAlive(int) bool { return false }

func marked(string) []int { return nil }

func unprobed(string) bool { return false }

// gone returns false, because this cannot be detected here; leftovers are not removed.
func gone(int) bool { return false }

func isMine(os.FileInfo) bool { return false }

func isMyProcess(int) bool { return false }

func marks() map[int]string { return nil }
