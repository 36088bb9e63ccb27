// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/record"
	"snug/internal/run"
	"snug/internal/term"
	"snug/internal/units"
)

// profileJSON is the output of `snug profile --json`.
type profileJSON struct {
	Runs       []runJSON `json:"runs"`
	Profile    string    `json:"profile,omitempty"`
	Recordings []string  `json:"recordings,omitempty"`
	Notes      []string  `json:"notes,omitempty"`
}

type runJSON struct {
	At            profile.Point     `json:"at"`
	ExitCode      int               `json:"exit_code"`
	Steps         int               `json:"steps"`
	Processes     int               `json:"processes"`
	Seconds       float64           `json:"seconds"`
	StepSeconds   float64           `json:"step_seconds,omitempty"`
	PeakAllocated uint64            `json:"peak_allocated"`
	PeakReserved  uint64            `json:"peak_reserved"`
	GPU           *run.GPU          `json:"gpu,omitempty"`
	State         *run.State        `json:"state,omitempty"`
	Batch         *run.Batch        `json:"batch,omitempty"`
	Versions      map[string]string `json:"versions"`
	Compared      []record.Figure   `json:"compared,omitempty"`
}

// profileReport is the output of `snug profile`, as text and as JSON.
type profileReport struct {
	*record.Result
	keep string // the folder given with --keep
}

func (r profileReport) json(w io.Writer) error {
	out := profileJSON{Runs: []runJSON{}, Profile: r.Profile, Recordings: r.Kept, Notes: r.Notes}
	for _, t := range r.Trials {
		x := t.Report
		j := runJSON{
			At: t.At, ExitCode: t.Outcome.Exit.Code, Steps: len(x.Steps), Processes: t.Processes, Seconds: t.Outcome.Took.Seconds(),
			StepSeconds: x.StepSeconds(), PeakAllocated: x.PeakAllocated(), PeakReserved: x.PeakReserved(),
			GPU: x.GPU, State: x.State, Versions: x.Versions,
		}
		if len(x.Batches) > 0 {
			j.Batch = &x.Batches[0]
		}
		if t.Comparison != nil {
			j.Compared = t.Comparison.Figures
		}
		out.Runs = append(out.Runs, j)
	}
	return printJSON(w, out)
}

// text writes the report as text.
func (r profileReport) text(w io.Writer, s term.Screen) error {
	var lines []string
	lines = append(lines, r.where(), "")
	lines = append(lines, s.Table(r.table())...)
	for _, t := range r.Trials {
		if t.Comparison != nil {
			lines = append(lines, "", "measured against estimated"+t.AtSize())
			lines = append(lines, s.Table(comparisonTable(t.Comparison.Figures))...)
		}
	}
	lines = append(lines, "")
	for _, n := range r.Notes {
		lines = append(lines, wrap(strings.Fields("note: "+n), " ", s.Width)...)
	}
	lines = append(lines, r.conclusion(s.Width)...)
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// where returns the card and the PyTorch version of the measurement.
func (r profileReport) where() string {
	x := r.Trials[0].Report
	text := "PyTorch " + x.Versions["torch"]
	if x.GPU != nil {
		text = fmt.Sprintf("%s, %v, %s", x.GPU.Name, units.Bytes(x.GPU.Total), text)
	}
	return text
}

func (r profileReport) table() term.Table {
	t := term.Table{Header: []string{"size", "steps", "a step", "peak allocated", "peak reserved"}, Right: []int{1, 2, 3, 4}, Indent: 2}
	for _, run := range r.Trials {
		size := run.At.String()
		if size == "" {
			size = "unchanged"
		}
		t.Rows = append(t.Rows, []string{
			size, fmt.Sprint(len(run.Report.Steps)), stepTime(run.Report), units.Bytes(run.Report.PeakAllocated()).String(), units.Bytes(run.Report.PeakReserved()).String(),
		})
	}
	return t
}

func stepTime(x *run.Report) string {
	d := time.Duration(x.StepSeconds() * float64(time.Second))
	switch {
	case d <= 0:
		return "?"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return d.Round(100 * time.Millisecond).String()
}

func comparisonTable(figures []record.Figure) term.Table {
	t := term.Table{Header: []string{"", "measured", "estimated", "off"}, Right: []int{1, 2, 3}, Indent: 2}
	for _, c := range figures {
		off := "?"
		if c.Measured > 0 {
			off = offBy(c.Estimated, c.Measured)
		}
		t.Rows = append(t.Rows, []string{c.Name, units.Bytes(c.Measured).String(), units.Bytes(c.Estimated).String(), off})
	}
	return t
}

// offBy formats the error of an estimate as a percentage. A value that rounds to zero has no sign.
func offBy(estimated, measured uint64) string {
	text := fmt.Sprintf("%+.2f %%", (float64(estimated)/float64(measured)-1)*100)
	if text == "-0.00 %" {
		return "+0.00 %"
	}
	return text
}

// conclusion returns the outcome, and what to do next.
func (r profileReport) conclusion(width int) []string {
	text := ""
	switch {
	case r.Profile != "":
		return append(strings.Split(basis(r.Program), "\n"), r.next()...)
	case len(r.Kept) > 1:
		text = "the recordings are in " + r.keep
	case len(r.Trials) > 1:
	default:
		text = "one size is only a measurement; to predict others, record two: snug profile --vary batch=2,3 -- <command with {batch}>"
	}
	return wrap(strings.Fields(text), " ", width)
}

// next lists commands that use the profile, one per line.
func (r profileReport) next() []string {
	at, card := r.Program.Recorded()[0], "CARD"
	for name := range at {
		at[name] *= 8
	}
	if c, err := gpu.Find(r.Program.Card); err == nil {
		card = c.Name
	}
	seq := ""
	if n, varied := at["seq"]; varied {
		seq = fmt.Sprintf(" --seq %d", n)
	}
	batch, varied := at["batch"]
	if plain := len(at) == 1 || len(at) == 2 && seq != ""; !varied || !plain {
		return []string{r.Profile + " contains the profile; to predict other sizes:", fmt.Sprintf("  snug predict %s --at %s", r.Profile, at)}
	}
	return []string{
		r.Profile + " contains the profile; to predict other sizes on any card:",
		fmt.Sprintf("  snug estimate --model %s --batch %d%s --gpu %s", r.Profile, batch, seq, card),
		fmt.Sprintf("  snug max-batch --model %s%s --gpu %s", r.Profile, seq, card),
		fmt.Sprintf("  snug optimize --model %s --batch %d%s --gpu %s", r.Profile, batch, seq, card),
	}
}
