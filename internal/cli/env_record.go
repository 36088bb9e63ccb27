// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"

	"snug/internal/record"
	"snug/internal/store"
)

// recording returns the outside world as internal/record sees it. The command runs with the streams and the
// environment of snug itself. It gets no standard input if snug reads that (a file named -), and no
// standard output if that is only for the answer.
func (e Env) recording(events record.Events, file string, answerAlone bool) record.Env {
	out := record.Env{
		Stdout: raw(e.Stdout), Stderr: raw(e.Stderr), Environ: e.Environ, LookupEnv: e.lookupEnv, GPUs: e.GPUs, Runner: e.Runner,
		Store:  func() (record.Store, error) { return store.Open(store.Path(e.Getenv)) },
		Events: events,
	}
	if file != "-" {
		out.Stdin, _ = e.Stdin.(*os.File)
	}
	if answerAlone {
		out.Stdout = out.Stderr
	}
	return out
}

// say tells the user what is going on.
func (e Env) say(text string) { fmt.Fprintf(e.Stderr, "snug: %s\n", text) }

// past returns what was measured here before, on a card.
func (e Env) past(card string) *record.Past {
	return record.OpenPast(store.Path(e.Getenv), card)
}
