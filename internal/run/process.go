// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Local starts commands on this machine.
type Local struct{}

// lastWords is how long to wait for output after the command has ended: a process that it left behind may keep the
// pipes open forever.
const lastWords = 2 * time.Second

// lastLook is how long the system may take to remove killed processes.
const lastLook = 300 * time.Millisecond

// Start starts c in its own process group.
func (Local) Start(_ context.Context, c Command) (Process, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdout, c.Stderr
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	cmd.WaitDelay = lastWords
	isolate(cmd)
	if err := start(cmd); err != nil {
		return nil, startError(c.Args[0], err)
	}
	return &local{cmd: cmd, mark: MarkOf(c.Env), tty: openTerminal()}, nil
}

// CheckCommand returns an error if the command does not exist.
func CheckCommand(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return startError(name, err)
	}
	return nil
}

// startError returns an error with advice for a command that cannot be started.
func startError(name string, err error) error {
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist)
	switch {
	case isFile(name) && strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".pickle"):
		return &StartError{name, "is a recording, not a program; predict from it and another one, as in snug predict " + name + "@batch=2 OTHER@batch=3 --at batch=8"}
	case missing && strings.ContainsAny(name, " \t") && !isFile(name):
		return &StartError{strconv.Quote(name), "is one word, but not a program; remove the quotes around the whole command"}
	case errors.Is(err, exec.ErrNotFound) && isFile(name):
		return &StartError{name, "is a file, not a command; put its interpreter in front, as in python " + name + ", or ./ if it is executable"}
	case errors.Is(err, exec.ErrNotFound):
		return &StartError{name, "is not a command here; is its environment active?"}
	case errors.Is(err, os.ErrPermission):
		return &StartError{name, "is not a program; put its interpreter in front, as in python " + name}
	case errors.Is(err, os.ErrNotExist):
		return &StartError{name, "does not exist"}
	}
	return err
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// StartError is the error for a command that could not be started.
type StartError struct {
	Name string // the command
	Why  string // what is wrong with it, as a sentence about Name
}

// Error returns the command and what is wrong with it.
func (e *StartError) Error() string { return e.Name + " " + e.Why }

// local is a command running on this machine.
type local struct {
	cmd  *exec.Cmd
	mark string
	tty  *terminal // nil if there is none

	killed bool // everything found has been killed
}

func (p *local) Wait() Exit {
	err := p.cmd.Wait()
	state := p.cmd.ProcessState
	if state == nil {
		return Exit{Code: 1}
	}
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return Exit{Code: 128 + int(s.Signal()), Signal: s.Signal()}
	}
	if code := state.ExitCode(); code >= 0 {
		return Exit{Code: code}
	}
	if err != nil {
		return Exit{Code: 1}
	}
	return Exit{}
}

// End sends a signal to the group and to all processes with this run's mark. Launchers put their workers into new
// sessions, which a signal to the group does not reach.
func (p *local) End(s os.Signal) {
	p.killed = p.killed || s == os.Kill
	p.Signal(s)
	n, _ := s.(syscall.Signal)
	for _, pid := range marked(p.mark) {
		if !inGroup(pid, p.cmd.Process.Pid) {
			end(pid, n)
		}
	}
}

// Sweep gives the remaining processes a moment to end, then sends SIGTERM, then SIGKILL. With hurry, processes that
// were already asked to end get no further time; it only waits for those that were killed.
func (p *local) Sweep(hurry bool) {
	p.tty.takeBack()
	defer p.tty.close()
	moment, asked, insist := time.Second, 3*time.Second, time.Second
	switch {
	case p.killed:
		moment, asked, insist = 0, 0, lastLook
	case hurry:
		moment, asked = 0, 700*time.Millisecond
	}
	if p.gone(moment) {
		return
	}
	if !p.killed {
		p.End(syscall.SIGTERM)
	}
	if p.gone(asked) {
		return
	}
	for deadline := time.Now().Add(insist); time.Now().Before(deadline) && !p.gone(0); time.Sleep(20 * time.Millisecond) {
		p.End(os.Kill) // again, because dying processes may start others
	}
}

// gone waits for a while, and reports whether all processes have ended.
func (p *local) gone(atMost time.Duration) bool {
	for deadline := time.Now().Add(atMost); ; time.Sleep(20 * time.Millisecond) {
		if len(marked(p.mark)) == 0 && !groupAlive(p.cmd.Process.Pid) {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
	}
}
