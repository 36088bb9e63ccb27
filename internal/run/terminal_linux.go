// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// The command runs in its own process group, so that Ctrl-C reaches snug first and everything ends in order. To the
// terminal, this group is in the background: if one of its processes reads from the terminal or changes its settings,
// the system stops it and it would wait forever. So snug gives the terminal to a group that was stopped for this
// reason, as a shell does with fg, and takes it back at the end. From then on key presses go to that group, and a
// listener in it reports them.

// terminal is the terminal that snug was started from.
type terminal struct {
	file   *os.File
	typed  chan os.Signal
	lent   int         // the process group that has the terminal, or 0
	before *term.State // the terminal's previous settings
	keys   *listener
	looked time.Time // when all processes were last checked
	told   bool      // the user was told that the terminal cannot be lent
}

// openTerminal returns snug's terminal, or nil if it has none.
func openTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return &terminal{file: f, typed: make(chan os.Signal, 4)}
}

// close releases the terminal.
func (t *terminal) close() {
	if t != nil {
		_ = t.file.Close()
	}
}

// foreground returns the process group that receives key presses.
func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

func (t *terminal) setForeground(group int) error {
	return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group)
}

// lend gives the terminal to a process group. While the group has it, snug itself is in the background, and would be
// stopped for taking it back, or for writing if tostop is set. So snug ignores the signal from then on: Go cannot
// undo that.
func (t *terminal) lend(group int) error {
	if t.before == nil {
		t.before, _ = term.GetState(int(t.file.Fd()))
	}
	signal.Ignore(syscall.SIGTTOU)
	t.keys.close()
	t.keys = listen(group, t.typed)
	if err := t.setForeground(group); err != nil {
		t.keys.close()
		t.keys = nil
		return err
	}
	t.lent, t.told = group, false
	return nil
}

// takeBack takes the terminal back and restores its settings, unless another process has it by then.
func (t *terminal) takeBack() {
	if t == nil || t.lent == 0 {
		return
	}
	if t.foreground() == t.lent {
		_ = t.setForeground(syscall.Getpgrp())
		if t.before != nil {
			_ = term.Restore(int(t.file.Fd()), t.before)
		}
	}
	t.keys.close()
	t.lent, t.keys = 0, nil
}

// start starts a command with SIGTTOU's default action.
func start(cmd *exec.Cmd) error {
	if signal.Ignored(syscall.SIGTTOU) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTTOU) // handled signals are not inherited
		defer signal.Ignore(syscall.SIGTTOU)
	}
	return cmd.Start()
}

// Attend checks whether the command is waiting for the terminal, and lends it.
func (p *local) Attend() Asked {
	t := p.tty
	if t == nil {
		return NotAsked
	}
	group := p.waiting()
	if group == 0 {
		return NotAsked
	}
	if has := t.foreground(); has != syscall.Getpgrp() && has != t.lent || t.lend(group) != nil {
		if t.told {
			return NotAsked
		}
		t.told = true
		return NotLendable
	}
	_ = syscall.Kill(-group, syscall.SIGCONT)
	return Lent
}

// Typed returns the channel of signals from key presses that went to the command.
func (p *local) Typed() <-chan os.Signal {
	if p.tty == nil {
		return nil
	}
	return p.tty.typed
}

// waiting returns the process group of a process that was stopped because it needs the terminal, or 0. The command
// itself is checked each time, its children now and then: a launcher may sleep while its child is stopped.
func (p *local) waiting() int {
	command := p.cmd.Process.Pid
	if s, ok := statOf(command); ok && s.wantsTerminal() {
		return s.group
	}
	if time.Since(p.tty.looked) < 2*time.Second {
		return 0
	}
	p.tty.looked = time.Now()
	var candidates []stat
	for _, s := range stats() {
		if s.wantsTerminal() && s.group == command {
			return s.group
		} else if s.wantsTerminal() {
			candidates = append(candidates, s)
		}
	}
	if len(candidates) == 0 {
		return 0
	}
	ours := map[int]bool{}
	for _, pid := range marked(p.mark) {
		ours[pid] = true
	}
	for _, s := range candidates {
		if ours[s.pid] {
			return s.group
		}
	}
	return 0
}

// pauses returns the signals that pause a run: only Ctrl-Z's.
func pauses() []os.Signal { return []os.Signal{syscall.SIGTSTP} }

func isPause(s os.Signal) bool { return s == syscall.SIGTSTP }

// Paused reports whether a signal was Ctrl-Z's. If so, it stops snug, returns after snug has continued, and
// subscribes to the signal again.
func Paused(s os.Signal, to chan<- os.Signal) bool {
	if !isPause(s) {
		return false
	}
	stopHere()
	Notify(to)
	return true
}

// pauseAlone makes Ctrl-Z stop a snug that runs no command: in Go, a signal that was subscribed once has no default
// action anymore.
func pauseAlone() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, pauses()...)
	go func() {
		for range c {
			stopHere()
			signal.Notify(c, pauses()...)
		}
	}()
}

// Pause stops the command and snug on Ctrl-Z, and returns when both continue. It removes the signal's handler.
func (p *local) Pause() {
	t, had := p.tty, 0
	var theirs *term.State
	if t != nil && t.lent != 0 {
		had = t.lent
		theirs, _ = term.GetState(int(t.file.Fd()))
		t.takeBack()
	}
	p.Signal(syscall.SIGTSTP)
	stopHere()
	if had != 0 && t.foreground() == syscall.Getpgrp() && t.lend(had) == nil && theirs != nil {
		_ = term.Restore(int(t.file.Fd()), theirs)
	}
	if had != 0 && had != p.cmd.Process.Pid {
		_ = syscall.Kill(-had, syscall.SIGCONT)
	}
	p.Signal(syscall.SIGCONT)
}

// stopHere stops snug's own process group, including everything that the shell put into it, and returns when it
// continues, or at once if no shell can continue it. Go keeps a handler for a signal that was subscribed once, so
// snug sends itself the stop signal that cannot be handled.
func stopHere() {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	signal.Reset(syscall.SIGTSTP)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	if orphaned() {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {
	case <-again:
	case <-time.After(look):
	}
}

// orphaned reports whether snug's process group has no parent that could continue it. The system does not stop such a
// group on Ctrl-Z either.
func orphaned() bool {
	all := map[int]stat{}
	for _, s := range stats() {
		all[s.pid] = s
	}
	for _, s := range all {
		if parent, ok := all[s.parent]; ok && s.group == syscall.Getpgrp() && parent.group != s.group && parent.session == s.session {
			return false
		}
	}
	return true
}
