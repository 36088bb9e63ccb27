// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/replay"
	"snug/internal/term"
	"snug/internal/units"
)

// comparison lists the result of each setting, best first, and the line that sets the best one. The settings
// are the candidates in replay/compare.go.
func (r *replayReport) comparison(b *strings.Builder, s term.Screen) {
	if len(r.outcomes) == 0 {
		return
	}
	b.WriteString("\nThis run under other allocator settings, best first\n")
	t := term.Table{
		Header: []string{"setting", "reserved", "allocated", "vs. now"},
		Right:  []int{1, 2, 3},
		Indent: 2,
	}
	for _, o := range r.outcomes {
		t.Rows = append(t.Rows, r.row(o, s))
	}
	for _, l := range s.Table(t) {
		b.WriteString(l + "\n")
	}
	b.WriteString("\n" + r.advice() + "\n")
}

func (r *replayReport) row(o replay.Outcome, s term.Screen) []string {
	name := o.Conf
	if name == "" {
		name = "(none: PyTorch's defaults)"
	}
	change := difference(o.PeakReserved, r.result.PeakReserved, s)
	switch {
	case !o.Fits():
		change = "does not fit"
	case r.result.OOM != nil:
		change = "fits"
	}
	return []string{name, units.Bytes(o.PeakReserved).String(), units.Bytes(o.PeakAllocated).String(), change}
}

func difference(got, was uint64, s term.Screen) string {
	if got == was || was == 0 {
		return "same"
	}
	change := 100 * (float64(got) - float64(was)) / float64(was)
	text := fmt.Sprintf("%+.1f %%", change)
	if s.Unicode {
		text = strings.Replace(text, "-", "−", 1)
	}
	return text
}

// advice returns the line to export, if a setting is better than the recorded one.
func (r *replayReport) advice() string {
	best := r.outcomes[0]
	worse := r.result.OOM != nil && best.Fits() || best.PeakReserved < r.result.PeakReserved
	switch {
	case !best.Fits():
		return "None of these settings makes the run fit."
	case !worse:
		return "None of these settings is better than the recorded one."
	case best.Conf == "":
		return "unset " + replay.Variable(r.result.Torch)
	}
	return fmt.Sprintf("export %s=%s", replay.Variable(r.result.Torch), best.Conf)
}
