// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"snug/internal/units"
)

// measuredText describes the measurements in sentences.
func (o *optimizeOptions) measuredText() []string {
	var out []string
	for _, t := range o.measured.Trials {
		measured := t.Report.PeakReserved()
		text := fmt.Sprintf("Measured%s: %v reserved", t.AtSize(), units.Bytes(measured))
		if c := t.Comparison; c != nil {
			off := float64(c.Estimate.PeakReserved)/float64(max(measured, 1)) - 1
			text += fmt.Sprintf(", estimated %v (%+.1f %%)", units.Bytes(c.Estimate.PeakReserved), 100*off)
		}
		out = append(out, text+".")
	}
	if o.measured.FarApart() {
		out = append(out, "That is a large difference: does the command train this model, with this sequence length and precision? If not, remove the measurement with snug history delete.")
	}
	for _, n := range o.measured.Notes {
		out = append(out, "Note: "+n+".")
	}
	if o.measured.Profile != "" {
		out = append(out, o.measured.Profile+" contains the profile.")
	}
	return out
}
