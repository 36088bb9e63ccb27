// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/plan"
	"snug/internal/term"
	"snug/internal/units"
)

// cardsText writes one table of cards: the settings for each, its memory, and its speed compared with the fastest. With
// --gpu all it lists only the cards that the run fits, and on a terminal only as many as there are rows.
func cardsText(w io.Writer, s term.Screen, plans []*plan.Plan, all bool, rows int) error {
	plans = slices.Clone(plans)
	if all {
		slices.SortStableFunc(plans, func(a, b *plan.Plan) int { return cmp.Compare(speedOf(b), speedOf(a)) })
	}
	fastest := 0.0
	for _, p := range plans {
		fastest = max(fastest, speedOf(p))
	}
	first := plans[0].Current.Estimate
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Paint(term.Bold, s.Cut(planReport{Plan: plans[0]}.name(), s.Width)))
	params := ""
	if first.Params > 0 {
		params = term.Count(first.Params) + " parameters, "
	}
	samples := samplesText(plans[0].Target)
	if seq := first.Setup.Seq; seq > 0 {
		samples += fmt.Sprintf(" of %s tokens", term.Count(seq))
	}
	fmt.Fprintf(&b, "%s%s\n", params, samples)
	shown := plans
	if all {
		b.WriteString(paragraph(smallest(plans), s))
		shown = slices.DeleteFunc(slices.Clone(plans), func(p *plan.Plan) bool { return p.Recommended == nil })
	}
	const around = 11 // lines around the table
	if rows > around && len(shown) > rows-around {
		shown = shown[:rows-around]
	}
	b.WriteString("\n")
	t := term.Table{Header: []string{"card", "batch " + s.Times() + " acc.", "settings", "memory", "card", "speed"}, Right: []int{3, 4, 5}}
	for _, p := range shown {
		t.Rows = append(t.Rows, cardRow(s, p, fastest))
	}
	if !plans[0].Timed {
		t.Header[5] = ""
	}
	if len(shown) > 0 {
		for _, l := range s.Table(t) {
			b.WriteString(l + "\n")
		}
	}
	if left := fitting(plans) - len(shown); left > 0 {
		fmt.Fprintf(&b, "and %d slower ones; --explain shows them\n", left)
	}
	b.WriteString(legend(shown, fastest))
	b.WriteString(otherChanges(plans))
	if p := estimate.Profile(first.Setup); p != nil && plans[0].Timed {
		fmt.Fprintf(&b, "\nSpeeds are for %s, where the run was recorded.\n", p.Card)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// legend explains the speeds and the abbreviations in the table.
func legend(plans []*plan.Plan, fastest float64) string {
	var out []string
	expands, checkpoints, tight := false, false, false
	for _, p := range plans {
		if p.Recommended == nil {
			continue
		}
		s := p.Recommended.Estimate.Setup
		expands, checkpoints = expands || strings.Contains(s.Allocator, "expandable"), checkpoints || s.Checkpointing
		tight = tight || p.Tight
		if p.Timed && estimate.Profile(s) == nil && speedOf(p) == fastest && len(out) == 0 && len(plans) > 1 {
			unit, rate := throughput(p.Recommended)
			out = append(out, fmt.Sprintf("speed 1.00 is %s %s a second", rate, unit))
		}
	}
	if checkpoints {
		out = append(out, "checkp. is checkpointing")
	}
	if expands {
		out = append(out, "exp. is expandable_segments:True")
	}
	if tight {
		out = append(out, "tight settings might not fit")
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "; ") + "\n"
}

// fitting returns the number of cards that the run fits with some settings.
func fitting(plans []*plan.Plan) (n int) {
	for _, p := range plans {
		if p.Recommended != nil {
			n++
		}
	}
	return n
}

// smallest returns sentences about the smallest card that the run fits, and about the others.
func smallest(plans []*plan.Plan) string {
	var best, least *plan.Plan
	for _, p := range plans {
		switch {
		case p.Recommended != nil && (best == nil || p.Card.Total < best.Card.Total):
			best = p
		case p.Recommended == nil && (least == nil || p.Least.Estimate.DevicePeak < least.Least.Estimate.DevicePeak):
			least = p
		}
	}
	text := "Every card has settings that fit."
	if least != nil {
		text = fmt.Sprintf("No settings fit on %d of the %d cards: at least %v is needed.", len(plans)-fitting(plans), len(plans), units.Bytes(least.Least.Estimate.DevicePeak))
	}
	if best != nil && least != nil {
		text = fmt.Sprintf("It does not fit on %d of the %d cards.", len(plans)-fitting(plans), len(plans))
	}
	if best != nil {
		text = fmt.Sprintf("The smallest card it fits on is %s, with %v. ", best.GPU, units.Bytes(best.Card.Total)) + text
	}
	return text
}

// otherChanges lists the changes without a column in the table.
func otherChanges(plans []*plan.Plan) string {
	now := plans[0].Current.Estimate.Setup
	count, fit, order := map[string]int{}, 0, []string(nil)
	for _, p := range plans {
		if p.Recommended == nil {
			continue
		}
		fit++
		then := p.Recommended.Estimate.Setup
		for _, x := range [][2]string{{now.Optimizer, then.Optimizer}, {now.Attention, then.Attention}} {
			if change := fmt.Sprintf("%s instead of %s", x[1], x[0]); x[0] != x[1] {
				if count[change]++; count[change] == 1 {
					order = append(order, change)
				}
			}
		}
	}
	if len(order) == 0 {
		return ""
	}
	out := "\n"
	for _, change := range order {
		on := fmt.Sprintf("%d of %d cards", count[change], fit)
		if count[change] == fit {
			on = "every card"
		}
		out += fmt.Sprintf("With %s on %s.\n", change, on)
	}
	return out
}

func speedOf(p *plan.Plan) float64 {
	if p.Recommended == nil {
		return 0
	}
	return p.Recommended.SamplesPerSecond
}

func cardRow(s term.Screen, p *plan.Plan, fastest float64) []string {
	if p.Recommended == nil {
		a := p.Least.Estimate
		return []string{p.GPU, "nothing", "fits", units.Bytes(a.DevicePeak).String(), percent(a.DevicePeak, p.Card.Total), ""}
	}
	a := p.Recommended.Estimate
	x := a.Setup.AsRecorded()
	speed := ""
	if p.Timed {
		speed = fmt.Sprintf("%.2f", speedOf(p)/fastest)
	}
	how := []string{x.Precision}
	if x.Dist.FSDP() && x.Dist.ParamDType != "" {
		how[0] = x.Dist.ParamDType + "/" + x.Precision
	}
	if x.Checkpointing {
		how = append(how, "checkp.")
	}
	if x.Dist != nil {
		how = append(how, x.Dist.Kind)
	}
	if strings.Contains(x.Allocator, "expandable") {
		how = append(how, "exp.")
	}
	if p.Tight {
		how = append(how, "tight")
	}
	return []string{
		p.GPU, fmt.Sprintf("%d %s %d", x.Batch, s.Times(), x.Accumulation), strings.Join(how, " "),
		units.Bytes(a.DevicePeak).String(), percent(a.DevicePeak, p.Card.Total), speed,
	}
}
