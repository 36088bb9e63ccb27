// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"os"
	"syscall"

	"snug/internal/run"
)

// ExitError is an error with the exit code for snug: the command's, or that of the signal that ended it.
type ExitError struct {
	Code int    // snug's exit status
	Text string // the message

	interrupted bool
}

// Error returns the message.
func (e *ExitError) Error() string { return e.Text }

// exitError returns an error with the command's own exit code, or a plain error if the command succeeded.
func exitError(e run.Exit, text string) error {
	if e.Code != 0 {
		return &ExitError{Code: e.Code, Text: text}
	}
	return errors.New(text)
}

// reworded returns an error with a new text and the same exit code.
func reworded(err error, text string) error {
	var exit *ExitError
	if errors.As(err, &exit) {
		return &ExitError{Code: exit.Code, Text: text, interrupted: exit.interrupted}
	}
	return errors.New(text)
}

// interrupted returns the error for a run that a signal ended.
func interrupted(by os.Signal) error {
	number := syscall.SIGINT
	if n, ok := by.(syscall.Signal); ok {
		number = n
	}
	return &ExitError{Code: 128 + int(number), Text: "interrupted; no profile was written", interrupted: true}
}

// IsInterrupted reports whether an error means that a signal ended the run, so that nothing else should be tried.
func IsInterrupted(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.interrupted
}

// unlessInterrupted does work that may take a while. If a signal arrives first, it returns at once and abandons the
// work.
func (s *Session) unlessInterrupted(work func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		select {
		case by := <-s.signals:
			if !s.env.Signals.Pause(by, s.signals) {
				return interrupted(by)
			}
		case <-done:
			return nil
		}
	}
}
