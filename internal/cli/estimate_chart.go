// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/term"
	"snug/internal/units"
)

// part is one line of a list with bars.
type part struct {
	name  string
	bytes uint64
	note  string
}

// bars writes the parts of a whole, each with a bar.
func bars(b *strings.Builder, s term.Screen, parts []part, full uint64) {
	const left = 2 + 16 + 1 + 10 + 2 + 7 + 2
	room := s.Width - left
	for _, p := range parts {
		room = min(room, s.Width-left-len(p.note)-2)
	}
	for _, p := range parts {
		if p.bytes == 0 {
			continue
		}
		line := fmt.Sprintf("  %-16s %10s  %7s  %s  %s", p.name, units.Bytes(p.bytes), percent(p.bytes, full), s.Bar(p.bytes, full, room), p.note)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// largeOf returns the parts, with those that round to zero combined into one.
func largeOf(full uint64, parts []part) (out []part) {
	other := part{name: "other"}
	for _, p := range parts {
		if p.bytes > 0 && percent(p.bytes, full) == percent(0, full) {
			other.bytes += p.bytes
			continue
		}
		out = append(out, p)
	}
	return append(out, other)
}

func (r estimateReport) components(s term.Screen) string {
	c := r.Components
	outside := "assumed"
	if r.card.Measured {
		outside = "measured on " + r.card.Name
	}
	if c == (estimate.Components{}) {
		return ""
	}
	activations := ""
	if c.Recorded {
		activations = "and everything else"
	}
	var b strings.Builder
	b.WriteString("Memory at the peak\n")
	bars(&b, s, largeOf(r.DevicePeak, []part{
		{"parameters", c.Parameters, r.reference()}, {"gradients", c.Gradients, ""}, {"optimizer", c.Optimizer, ""},
		{"activations", c.Activations, activations}, {"logits", c.Logits, ""}, {"batch", c.Batch, ""},
		{"temporaries", c.Temporaries, ""}, {"workspace", c.Workspace, ""}, {"fragmentation", c.Fragmentation, ""},
		{"outside PyTorch", r.Outside, outside},
	}), r.DevicePeak)
	return b.String()
}

// reference returns the remark that the parameters include those of a reference model, or "".
func (r estimateReport) reference() string {
	switch {
	case r.Setup.ComparesWith() != setup.ReferenceModel:
		return ""
	case r.Setup.LoRA != nil: // only one of the two models has adapters
		return "with the reference model"
	}
	return fmt.Sprintf("%v reference", units.Bytes(r.Components.Parameters/2))
}

// decides returns the name of the phase with the peak.
func (r estimateReport) decides() string {
	name, most := "", uint64(0)
	for _, p := range phaseParts(r.Phases) {
		if p.bytes > most {
			name, most = p.name, p.bytes
		}
	}
	return name
}

func phaseParts(p estimate.Phases) []part {
	out := []part{{"load", p.Load, ""}, {"forward", p.Forward, ""}, {"backward", p.Backward, ""}, {"optimizer", p.Optimizer, ""}}
	if p.Evaluation > 0 {
		out = append(out, part{"evaluation", p.Evaluation, ""})
	}
	return out
}

func (r estimateReport) phases(s term.Screen) string {
	if r.Phases == (estimate.Phases{}) {
		return ""
	}
	var b strings.Builder
	b.WriteString("Peak allocated in each phase\n")
	parts := phaseParts(r.Phases)
	for i := range parts {
		if parts[i].name == r.decides() {
			parts[i].note = "peak"
		}
	}
	bars(&b, s, parts, r.PeakAllocated)
	return b.String()
}

// timeline draws one step.
func (r estimateReport) timeline(s term.Screen) (string, error) {
	line, err := r.Timeline(chartColumns(s))
	if err != nil || len(line.Allocated) == 0 {
		return "", err
	}
	most := uint64(0)
	for _, x := range line.Reserved {
		most = max(most, x)
	}
	title := "One step over time\n"
	if n := simulate.Settled; r.Setup.Accumulation > n {
		title = fmt.Sprintf("One step over time (%d of its %s forward passes; the rest are the same)\n", n, term.Count(r.Setup.Accumulation))
	}
	if r.Run == nil {
		title = "The recorded steps over time\n"
	}
	var b strings.Builder
	b.WriteString(title)
	for _, l := range s.Chart(term.Chart{
		Inner: line.Allocated, Outer: line.Reserved, Height: chartHeight, Mark: -1, Top: fmt.Sprintf("%10s", units.Bytes(most)),
	}) {
		b.WriteString(strings.Repeat(" ", chartIndent) + l + "\n")
	}
	axis, peak := phaseAxis(line, s), ""
	if strings.Contains(axis, s.Peak()) {
		peak = "  " + s.Peak() + " peak"
	}
	fmt.Fprintf(&b, "%*s%s\n", chartIndent+labelWidth, "", axis)
	fmt.Fprintf(&b, "%*s%s allocated  %s reserved%s\n", chartIndent+labelWidth, "", s.Solid(), s.Shade(), peak)
	return b.String(), nil
}

// phaseAxis writes each phase's name below its beginning, if there is space.
func phaseAxis(line estimate.Timeline, s term.Screen) string {
	cells := []rune(strings.Repeat(" ", len(line.Allocated)))
	for i, p := range line.Starts {
		end := len(cells)
		if i+1 < len(line.Starts) {
			end = line.Starts[i+1].Column
		}
		name := []rune(s.Tick() + simulate.PhaseName(p.Phase))
		if len(name) < end-p.Column {
			copy(cells[p.Column:], name)
		}
	}
	if line.Peak >= 0 {
		at := []rune(s.Peak())
		if cells[line.Peak] == ' ' {
			copy(cells[line.Peak:], at)
		}
	}
	return strings.TrimRight(string(cells), " ")
}
