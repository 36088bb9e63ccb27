// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"

	"snug/internal/run"
)

// A command finds the input that it would find without snug: the terminal, a file
// or a pipe.

// input is the command's standard input, nil where it has none. One that is a file
// is at its beginning for every size.
func (p *profiling) input() *os.File {
	f, ok := p.env.Stdin.(*os.File)
	if !ok || p.options.setup == "-" || p.options.ownInput {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	if info.Mode().IsRegular() {
		if p.inputAt == nil {
			at, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return f
			}
			p.inputAt = &at
		}
		_, _ = f.Seek(*p.inputAt, io.SeekStart)
	}
	return f
}

// asked says that the command waits for somebody who types, where that does not show.
func (p *profiling) asked(a run.Asked) {
	switch {
	case a == run.NotLendable:
		p.say("the command waits for the terminal, and snug is in the background: bring it back with fg")
	case a == run.Lent && p.options.quiet:
		p.say("the command has asked for the terminal, and has it now; without -q it can be seen what it wants")
	}
}
