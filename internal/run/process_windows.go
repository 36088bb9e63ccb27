// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Signal ends the command with all it started: Windows has no gentler way that
// reaches another console group.
func (p *local) Signal(os.Signal) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run()
}

func end(int, syscall.Signal) {}

func groupAlive(int) bool { return false }

func marked(string) []int { return nil }

func unprobed(string) bool { return false }

// gone is not told here: what a process leaves behind stays.
func gone(int) bool { return false }

func isMine(os.FileInfo) bool { return false }

func tryLock(*os.File) error { return nil }
