// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// notesOnce prints notes on standard error. Each is printed once, even if it applies to many setups.
type notesOnce map[string]bool

// about prints the notes about a run on a card.
func (a notesOnce) about(env Env, s *setup.Setup, card gpu.Card) {
	a.say(env, soldNote(card))
	a.say(env, estimate.Notes(s, card))
}

// uncounted prints the notes about what a run's figures omit.
func (a notesOnce) uncounted(env Env, s *setup.Setup) { a.say(env, estimate.Uncounted(s)) }

func (a notesOnce) say(env Env, texts []string) {
	for _, text := range texts {
		if !a[text] {
			a[text] = true
			env.note(text)
		}
	}
}

// note prints a note: one line, wrapped between words on a terminal.
func (e Env) note(text string) {
	line := "snug: note: " + text
	if s := e.errorScreen(); s.Height > 0 {
		line = strings.Join(wrap(strings.Fields(line), " ", s.Width), "\n")
	}
	fmt.Fprintf(e.Stderr, "%s\n", line)
}

// allNotes returns all notes about a run on a card, for JSON.
func allNotes(s *setup.Setup, card gpu.Card, warnings []string) []string {
	notes := slices.Concat(estimate.Notes(s, card), warnings, estimate.Uncounted(s))
	if from := s.Script.Origins(); from != "" {
		notes = append(notes, from)
	}
	return notes
}
