// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"

	"snug/internal/record"
	"snug/internal/store"
)

// recording returns the Env in the form that internal/record needs. The command runs with snug's own streams
// and environment. It gets no standard input if snug reads that itself (a file named -), and no standard output
// if that is reserved for the answer.
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

// say prints a progress message.
func (e Env) say(text string) { fmt.Fprintf(e.Stderr, "snug: %s\n", text) }

// past returns earlier measurements on this machine for a card.
func (e Env) past(card string) *record.Past {
	return record.OpenPast(store.Path(e.Getenv), card)
}
