// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// stat is the content of /proc/PID/stat.
type stat struct {
	pid        int
	state      byte // R, S, T for stopped, Z for dead
	parent     int
	group      int
	session    int
	terminal   int // the controlling terminal; 0: none
	foreground int // the terminal's foreground process group
	stopped    int // the signal that stopped it; 0 before Linux 5.17
}

// pids returns the IDs of all processes.
func pids() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// stats returns the stat of every process.
func stats() []stat {
	var out []stat
	for _, pid := range pids() {
		if s, ok := statOf(pid); ok {
			out = append(out, s)
		}
	}
	return out
}

// statOf reads a process's stat file:
//
//	12 (name) S 1 12 12 34816 12 …: state, parent, group, session, terminal, foreground
//
// The name may contain spaces and parentheses, so fields are counted from the last ")". The file's last field is the
// signal that stopped the process.
func statOf(pid int) (stat, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if err != nil || len(fields) < 6 {
		return stat{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i]))
		return n
	}
	s := stat{pid: pid, state: fields[0][0], parent: number(1), group: number(2), session: number(3), terminal: number(4), foreground: number(5)}
	if len(fields) >= 50 {
		s.stopped = number(49)
	}
	return s, true
}

// wantsTerminal reports whether the system stopped a background process for reading from the terminal or changing its
// settings.
func (s stat) wantsTerminal() bool {
	if s.state != 'T' || s.terminal == 0 || s.group == s.foreground {
		return false
	}
	return s.stopped == 0 || s.stopped == int(syscall.SIGTTIN) || s.stopped == int(syscall.SIGTTOU)
}
