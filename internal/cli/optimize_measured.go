// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"

	"snug/internal/units"
)

// farApart is how far an estimate is off that is of something else, as a share:
// of what was really run the worst was a quarter.
const farApart = 0.3

// isOther says whether what was measured cannot well be what was estimated.
func (p *profiling) isOther() bool {
	return slices.ContainsFunc(p.runs, func(r *measuredRun) bool {
		if r.compared == nil || r.rank.PeakReserved() == 0 {
			return false
		}
		off := float64(r.compared.estimate.PeakReserved)/float64(r.rank.PeakReserved()) - 1
		return max(off, -off) > farApart
	})
}

// measuredText is what was measured, in sentences.
func (o *optimizeOptions) measuredText() []string {
	var out []string
	for _, r := range o.measured.runs {
		text := fmt.Sprintf("Measured%s: %v reserved", named(r.at), units.Bytes(r.rank.PeakReserved()))
		if c := r.compared; c != nil {
			off := float64(c.estimate.PeakReserved)/float64(max(r.rank.PeakReserved(), 1)) - 1
			text += fmt.Sprintf(", estimated %v (%+.1f %%)", units.Bytes(c.estimate.PeakReserved), 100*off)
		}
		out = append(out, text+".")
	}
	if o.measured.isOther() {
		out = append(out, "That is far apart: is it what the command trains, at this sequence and precision? If not, snug history delete keeps it out of later estimates.")
	}
	for _, n := range o.measured.notes {
		out = append(out, "Note: "+n+".")
	}
	if o.measured.written != "" {
		out = append(out, o.measured.written+" holds the profile.")
	}
	return out
}
