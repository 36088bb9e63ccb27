// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"sync"

	"snug/internal/term"
)

// working shows what a command is busy with, on a line of standard error that appears after a second on a
// terminal. The caller must call done, which erases the line, before printing anything else.
func (e Env) working(what string) (done func()) {
	return e.progress(func() string { return what })
}

// progress is like working, but with a status that changes. status is called in another goroutine.
func (e Env) progress(status func() string) (done func()) {
	s := e.errorScreen()
	if s.Height == 0 || e.Getenv("TERM") == "dumb" {
		return func() {}
	}
	ticker, stop, stopped := term.Ticker(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		s.Progress(raw(e.Stderr), status, ticker.C, stop)
	}()
	return sync.OnceFunc(func() {
		ticker.Stop()
		close(stop)
		<-stopped
	})
}

// errorScreen describes what standard error can show; its Height is 0 if it is not a terminal.
func (e Env) errorScreen() term.Screen {
	if o, ok := e.Stderr.(*term.Output); ok {
		return o.Screen()
	}
	return term.Screen{}
}
