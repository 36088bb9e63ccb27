// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/term"
	"snug/internal/units"
)

// remediesText returns the changes that would make a run fit, as flags; "" if nothing helps.
func remediesText(ctx context.Context, s *setup.Setup, card gpu.Card, screen term.Screen) (string, error) {
	if estimate.Profile(s) != nil || ofScript(s) {
		return "", nil
	}
	found, err := plan.Remedies(ctx, s, card)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "None of the changes that snug estimate tries makes it fit.\n", nil
	}
	have := card.Total
	if s.Limit > 0 && (have == 0 || s.Limit < have) {
		have = s.Limit
	}
	title := "It would fit with any of these:"
	if len(found) == 1 {
		title = "It would fit with:"
	}
	const takesWidth = 22                    // width of the memory figures, such as 1023.99 GiB, 100.0 %
	width := screen.Width - 2*2 - takesWidth // minus the indent and the gap
	var b strings.Builder
	fmt.Fprintln(&b, title)
	for _, r := range found {
		takes := fmt.Sprintf("%v, %s", units.Bytes(r.Takes), percent(r.Takes, have))
		lines := wrap(r.Flags, " ", width)
		for i, l := range lines {
			if i == len(lines)-1 {
				l = fmt.Sprintf("%-*s  %s", width, l, takes)
			}
			fmt.Fprintln(&b, "  "+l)
		}
	}
	return b.String(), nil
}

// ofScript reports whether the run's loop is read from a script, whose settings flags cannot change.
func ofScript(s *setup.Setup) bool { return s.Script != nil && s.Script.File != nil }
