// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/term"
	"snug/internal/units"
)

// varying shows how the peak depends on the lengths, if they vary, and what would help.
func (r estimateReport) varying(s term.Screen) string {
	v, b := r.Lengths, &strings.Builder{}
	if v == nil {
		return ""
	}
	fmt.Fprintf(b, "Lengths vary: the peak is in step %d of %d, with %s of at most %s tokens\n", v.PeakStep, v.Steps, term.Count(v.PeakAt), term.Count(v.Longest))
	if v.Spread != nil {
		fmt.Fprintf(b, "  over %d orders: %s to %s\n", v.Orders, units.Bytes(v.Spread[0]), units.Bytes(v.Spread[1]))
	}
	if v.Spread == nil && r.Setup.Lengths.Each == nil {
		b.WriteString("  other orders and what would help are not simulated for a run this long;\n  give fewer --steps to see them\n")
	}
	if len(v.Growth) > 1 {
		var parts []string
		for _, g := range v.Growth {
			parts = append(parts, fmt.Sprintf("%d: %s", g[0], units.Bytes(g[1])))
		}
		for _, l := range wrap(parts, ", ", s.Width-len("  by step ")) {
			fmt.Fprintf(b, "  by step %s\n", l)
		}
	}
	if len(v.Remedies) == 0 {
		return b.String()
	}
	b.WriteString("\nWhat would help with varying lengths\n")
	for _, x := range v.Remedies {
		fmt.Fprintf(b, "  %-32s %10s  %s less\n", x.Change, units.Bytes(x.PeakReserved), percent(x.Saves, r.PeakReserved))
	}
	return b.String()
}
