// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"os"
	"syscall"
	"time"
)

// A run is asked to end, then asked in a way that few programs ignore, then killed. After Ctrl-C or the time limit
// the user is back at the prompt within five seconds, whatever the command does:
//
//	0 s     the signal is sent to the command and its process group
//	1.2 s   SIGTERM is sent to everything that it started
//	2.4 s   SIGKILL is sent to all of them
//	4.4 s   snug stops waiting for output of processes that it cannot find
const (
	hurry = 1200 * time.Millisecond // for a run that the user ends, or that took too long
	grace = 10 * time.Second        // for a run that snug ends by itself
	slow  = 2 * time.Second         // until the user is told about the delay
)

// polite returns the signal to send to the command after snug received sig. If the output's reader is gone, Python
// would ignore the broken pipe; and Ctrl-\ should not leave core files.
func polite(sig os.Signal) os.Signal {
	switch sig {
	case syscall.SIGPIPE:
		return syscall.SIGTERM
	case syscall.SIGQUIT:
		return os.Interrupt
	}
	return sig
}

// stop asks the command to end, and forces it to if it does not or if the user asks again. A nil signal means that
// the command has already received one.
func (s *Session) stop(p Process, t *attendant, done <-chan Exit, sig os.Signal, wait time.Duration) Exit {
	if sig != nil {
		p.Signal(sig)
	}
	if wait = cmp.Or(s.Grace, wait); wait > slow && s.Slow != nil {
		defer time.AfterFunc(slow, s.Slow).Stop()
	}
	for _, next := range []os.Signal{syscall.SIGTERM, os.Kill} {
		select {
		case e := <-done:
			return e
		case <-s.Signals:
			wait = min(wait, hurry)
		case <-t.typed:
			wait = min(wait, hurry)
		case <-time.After(wait):
		}
		p.End(next)
	}
	select {
	case e := <-done:
		return e
	case <-time.After(lastWords + 100*time.Millisecond): // the command did not end even after SIGKILL
		return Exit{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
	}
}
