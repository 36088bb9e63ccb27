// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/profile"
	"snug/internal/units"
)

// causes returns phrases that explain the width of the interval: what is unknown about the run, and the
// measured runs that the interval is based on.
func (r estimateReport) causes() (out []string) {
	if r.Setup.AsRecorded().ComputesIn() == "amp-fp16" && r.Here == 0 {
		out = append(out, "the first updates may be skipped in float16")
	}
	for _, o := range r.Uncertain {
		out = append(out, r.open(o)...)
	}
	if r.Evidence != nil {
		out = append(out, "based on "+r.Evidence.String())
	}
	for _, c := range r.Causes {
		switch c {
		case profile.Workspaces:
			out = append(out, "unmeasured kernel workspaces")
		case profile.Unlike:
			out = append(out, "the recordings differ in more than size")
		case profile.Elsewhere:
			if estimate.Profile(r.Setup).Card == "" {
				out = append(out, "the recordings do not name their card")
			} else {
				out = append(out, "recorded on another kind of card")
			}
		case profile.Attention:
			if !r.Card.Flash() {
				out = append(out, r.Card.Name+" has no flash attention")
			} else {
				out = append(out, "recorded on a card without flash attention")
			}
		case profile.Unplaced:
			out = append(out, "the recordings do not name their card")
		case profile.Drawn:
			out = append(out, "steps differ in size, depending on the samples")
		case profile.Smaller:
			out = append(out, "smaller than any size recorded")
		}
	}
	return out
}

// open lists what is unknown in advance about a simulated run.
func (r estimateReport) open(o estimate.Uncertainty) []string {
	switch {
	case o.What == estimate.Buckets:
		return []string{"DDP may keep its first buckets for longer"}
	case o.What == estimate.Compiled:
		return []string{"torch.compile: −44 % to +9 % in 11 runs"}
	case o.What == estimate.Code:
		return []string{"parts of the script are not simulated"}
	case o.What == estimate.Kernels && max(o.Less, o.More) >= units.MiB:
		var facts []string
		for _, f := range o.Facts {
			facts = append(facts, f.String())
		}
		return []string{fmt.Sprintf("memory of %s is unknown on this card", strings.Join(facts, ", "))}
	}
	return nil
}
