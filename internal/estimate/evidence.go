// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/gpu"
)

// Evidence describes the measured runs that an interval comes from.
type Evidence struct {
	Runs   int    `json:"runs"`             // the number of measured runs
	Family string `json:"family,omitempty"` // family that all runs belong to; "" if there are several
	Option string `json:"option,omitempty"` // option that all runs share; "" if they differ
	Card   string `json:"card,omitempty"`   // the card that the runs were measured on
	Torch  string `json:"torch,omitempty"`  // the PyTorch release of the runs
	Lacks  string `json:"lacks,omitempty"`  // a setting that none of the runs had, so that they are only similar
}

// String describes the evidence briefly: 14 runs of llama on H200, PyTorch 2.11. Option names come from the Evidence
// function of a setting's row in setup/table.go.
func (e Evidence) String() string {
	text := fmt.Sprintf("%d runs", e.Runs)
	if e.Family != "" {
		text += " of " + e.Family
	}
	if e.Option != "" {
		text += " with " + e.Option
	}
	text += " on " + e.Card + ", PyTorch " + e.Torch
	if e.Lacks != "" {
		text += "; " + e.Lacks
	}
	return text
}

// lacks describes what was never measured: the card, the version, or both.
func (t Residuals) lacks(card gpu.Card, torch string) string {
	var out []string
	say := func(runs int, where string) {
		switch {
		case runs == 0:
			out = append(out, "none "+where)
		case runs < enough:
			out = append(out, fmt.Sprintf("only %d %s", runs, where))
		}
	}
	say(t.measured(card, torch, true, false).Groups[""].Cases, "on "+cardName(card))
	say(t.measured(card, torch, false, true).Groups[""].Cases, "with PyTorch "+torch)
	return strings.Join(out, ", ")
}

// cardName returns a card's name for use in a sentence.
func cardName(card gpu.Card) string {
	if card.Unnamed {
		return "this unnamed card"
	}
	return card.Name
}

// list adds a name to a list, unless it is already there.
func list(names, name string) string {
	switch {
	case names == "":
		return name
	case slices.Contains(strings.Split(names, ", "), name):
		return names
	}
	return names + ", " + name
}
