// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"syscall"
	"time"
)

// attendant lends the terminal to a command that may need it. It does nothing for a process that is not interactive.
type attendant struct {
	process interactive
	typed   <-chan os.Signal
	told    func(Asked)
	resumed func()
	has     bool // the command has the terminal
}

func (s *Session) attend(p Process) *attendant {
	t := &attendant{told: s.Asked, resumed: s.Resumed}
	if x, ok := p.(interactive); ok {
		t.process, t.typed = x, x.Typed()
	}
	return t
}

// look lends the terminal to a command that waits for it.
func (t *attendant) look() {
	if t.process == nil {
		return
	}
	asked := t.process.Attend()
	t.has = t.has || asked == Lent
	if asked != NotAsked && t.told != nil {
		t.told(asked)
	}
}

// paused reports whether the signal pauses runs. If so, it pauses the run and returns when the run continues.
func (t *attendant) paused(sig os.Signal) bool {
	if !isPause(sig) {
		return false
	}
	if t.process != nil {
		t.process.Pause()
	}
	if t.resumed != nil {
		t.resumed()
	}
	return true
}

// typedBefore returns the key press that ended a command that had the terminal, or nil. The command's end may be
// noticed before the key press.
func (t *attendant) typedBefore(e Exit) os.Signal {
	if !t.has {
		return nil
	}
	if e.Signal == syscall.SIGINT || e.Signal == syscall.SIGQUIT {
		return e.Signal
	}
	select {
	case sig := <-t.typed:
		if !isPause(sig) {
			return sig
		}
	case <-time.After(50 * time.Millisecond):
	}
	return nil
}
