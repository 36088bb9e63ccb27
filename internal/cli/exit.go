// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/record"
)

// The exit codes. Run in cli.go prints the error itself, as text or as JSON.

const (
	exitDone   = 0
	exitFound  = 1
	exitFailed = 2
)

// exits is the one table of exit codes: every help text prints it.
var exits = []struct {
	code    int
	meaning string
}{
	{exitDone, "done; if the question was whether a run fits, it does"},
	{exitFound, "done, but the run does not fit, or problems were found"},
	{exitFailed, "failed: bad arguments, unreadable file, no such GPU"},
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %d  %s\n", e.code, e.meaning)
	}
	return b.String()
}

// found is an error for a negative answer: the run does not fit, some setups have errors, or lint found something. Its
// text is empty if everything is on standard output.
type found struct{ text string }

func (f found) Error() string { return f.text }

func exitCode(err error) int {
	var f found
	if errors.As(err, &f) {
		return exitFound
	}
	var command *record.ExitError // the exit code of the user's command, or 128 plus its signal (see record/interrupt.go)
	if errors.As(err, &command) {
		return command.Code
	}
	return exitFailed
}

// isFailure reports whether an error is a failure rather than an answer, regardless of its exit code.
func isFailure(err error) bool {
	var command *record.ExitError
	return errors.As(err, &command) || exitCode(err) == exitFailed
}
