// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"snug/internal/record"
	"snug/internal/term"
	"snug/internal/tune"
	"snug/internal/units"
)

// resultText describes a trial in one line.
func (t *tuner) resultText(c tune.Candidate, r tune.Result) string {
	if r.Outcome != tune.Fits {
		return fmt.Sprintf("%s: %s", c.Name(), r.Why)
	}
	parts := []string{fmt.Sprintf("%s: %s", c.Name(), counted(r.Steps, "step"))}
	if r.Reserved > 0 {
		text := fmt.Sprintf("%v reserved at the peak", units.Bytes(r.Reserved))
		if c.Predicted > 0 {
			text += ", " + tune.ComparePeak(c, r)
		}
		parts = append(parts, text)
	}
	if r.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s samples/s (%s)", term.ThreeDigits(r.Rate), noiseText(r.Noise)))
	}
	return strings.Join(parts, ", ")
}

func noiseText(noise float64) string { return fmt.Sprintf("noise %.1f %%", 100*noise) }

// report prints the result, and writes the requested files.
func (t *tuner) report() error {
	files, err := t.files()
	if err != nil {
		return err
	}
	t.publish(files, false)
	if t.o.html != "" {
		if err := t.page(files); err != nil {
			return err
		}
	}
	if t.o.json {
		err = printJSON(t.env.Stdout, t.asJSON(files))
	} else {
		err = t.text(t.env.Stdout, t.env.screen(), files)
	}
	if err == nil && t.climb.Best() == nil {
		return found{}
	}
	return err
}

// files plans the changes to the config files for the best settings, and makes them with --apply; nil if there
// are no files or nothing was found.
func (t *tuner) files() (*applyReport, error) {
	best := t.climb.Best()
	if t.today.project == nil || best == nil {
		return nil, nil
	}
	want, err := fromSettings(best.Settings.Changed(t.current))
	if err != nil {
		return nil, err
	}
	want.advised = true
	report, err := t.o.write(t.env, want, t.o.apply)
	switch {
	case err != nil && t.o.apply:
		return nil, err
	case err != nil:
		t.notes = append(t.notes, oneLine(err.Error()))
		return nil, nil
	}
	report.flag = "--apply"
	return report, nil
}

// text writes the report as text.
func (t *tuner) text(w io.Writer, s term.Screen, files *applyReport) error {
	var b strings.Builder
	b.WriteString(paragraph(t.title(), s) + "\n")
	for _, line := range s.Table(t.table(s)) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
	for _, n := range t.allNotes() {
		b.WriteString(paragraph("note: "+n, s))
	}
	b.WriteString(paragraph(t.conclusion(), s))
	if line := t.commandLine(); line != "" {
		b.WriteString("  " + line + "\n")
	}
	if files != nil {
		b.WriteString("\n")
		if err := files.text(&b, s); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title returns what was tuned, and where.
func (t *tuner) title() string {
	text := fmt.Sprintf("%s on %s", t.base.Model.Title(), t.card.Name)
	if t.base.Model.Config == nil || t.base.Model.Program != nil {
		text = fmt.Sprintf("%s on %s", brief(strings.Join(t.words, " ")), t.card.Name)
	}
	if t.limit > 0 {
		text += fmt.Sprintf(", %v for PyTorch", units.Bytes(t.limit))
	}
	text += fmt.Sprintf(", %s", samplesText(t.climb.Candidates()[0].Effective()))
	if t.made > 0 {
		text += fmt.Sprintf("; %s made for the prediction", wereMade(t.made))
	}
	return text
}

func wereMade(n int) string {
	if n == 1 {
		return "1 recording was"
	}
	return fmt.Sprintf("%d recordings were", n)
}

// table lists the trials.
func (t *tuner) table(s term.Screen) term.Table {
	out := term.Table{Header: []string{"trial", "settings", "memory", "predicted", "samples/s", "noise"}, Right: []int{2, 3, 4, 5}}
	best := t.climb.Best()
	for i, x := range t.lines {
		row := []string{fmt.Sprint(i + 1), settingsText(s, x.Candidate), "", "", outcomeText(x.Result), ""}
		if x.Reserved > 0 {
			row[2] = units.Bytes(x.Reserved).String()
		}
		if x.Predicted > 0 {
			row[3] = units.Bytes(x.Predicted).String()
		}
		if x.Rate > 0 {
			row[4], row[5] = term.ThreeDigits(x.Rate), fmt.Sprintf("%.1f %%", 100*x.Noise)
		}
		if best != nil && x.Key() == best.Key() {
			row[0] += " best"
		}
		if x.earlier {
			row[0] += " reused"
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func settingsText(s term.Screen, c tune.Candidate) string {
	text := fmt.Sprintf("%d %s %d", c.Batch, s.Times(), c.Accumulation)
	if c.Variant != "" {
		text += " " + c.Variant
	}
	return text
}

func outcomeText(r tune.Result) string {
	switch r.Outcome {
	case tune.Fits:
		return ""
	case tune.OutOfMemory:
		return "out of memory"
	}
	return string(r.Outcome)
}

// conclusion returns the best settings, and why they were chosen.
func (t *tuner) conclusion() string {
	best := t.climb.Best()
	why := ""
	if n := len(t.steps); n > 0 {
		why = cmp.Or(t.steps[n-1].End, t.steps[n-1].Why)
	}
	if best == nil {
		return "Nothing fits. " + sentence(why)
	}
	text := fmt.Sprintf("Best: %s", best.Name())
	if best.Rate > 0 {
		text += fmt.Sprintf(", %s samples per second", term.ThreeDigits(best.Rate))
	}
	if best.Reserved > 0 {
		text += fmt.Sprintf(", %v reserved at the peak", units.Bytes(best.Reserved))
		if t.limit > 0 {
			text += fmt.Sprintf(", %.0f %% of %v", 100*float64(best.Reserved)/float64(t.limit), units.Bytes(t.limit))
		}
	}
	return text + ". " + sentence(why)
}

// sentence returns text as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// commandLine returns the command with the best settings, if it has placeholders.
func (t *tuner) commandLine() string {
	best := t.climb.Best()
	if best == nil || len(t.session.Placeholders()) == 0 {
		return ""
	}
	x, err := t.bind(best.Candidate)
	if err != nil {
		return ""
	}
	defer x.Discard() //nolint:errcheck // closing the session tries again
	return commandWithScript(x)
}

// commandWithScript returns a trial's command, with the values that go into its batch script.
func commandWithScript(x *record.Trial) string {
	script, filled := x.InScript()
	if len(filled) == 0 {
		return x.CommandLine()
	}
	return fmt.Sprintf("%s   (in %s: %s)", x.CommandLine(), script, strings.ReplaceAll(filled.String(), ",", ", "))
}

// allNotes returns all notes about the trials.
func (t *tuner) allNotes() []string {
	out := append([]string{}, t.notes...)
	best := t.climb.Best()
	for _, x := range t.lines {
		if best == nil || x.Key() != best.Key() {
			continue
		}
		if x.Longest != "" {
			out = append(out, x.Longest)
		}
		if x.Growth > 0 {
			out = append(out, fmt.Sprintf("memory still grew by %v per step at the end of the trial; if that continues, the run will run out of memory; snug lint and snug diagnose find the cause", units.Bytes(x.Growth)))
		}
		if x.Noise >= 0.05 {
			out = append(out, fmt.Sprintf("the speed varies a lot (%s); measure more steps with --max-steps and --steady 0", noiseText(x.Noise)))
		}
		break
	}
	return out
}

// showPlan prints what would be tried.
func (t *tuner) showPlan() error {
	if t.o.json {
		return printJSON(t.env.Stdout, t.planJSON())
	}
	s := t.env.screen()
	out := term.Table{Header: []string{"", "settings", "predicted", "of the limit", "samples/s"}, Right: []int{2, 3, 4}}
	for i, c := range t.climb.Candidates() {
		row := []string{"", settingsText(s, c), units.Bytes(c.Predicted).String(), "", ""}
		if i == 0 {
			row[0] = "first"
		}
		if t.limit > 0 {
			row[3] = fmt.Sprintf("%.0f %%", 100*float64(c.Predicted)/float64(t.limit))
		}
		if c.Expected > 0 {
			row[4] = term.ThreeDigits(c.Expected)
		}
		out.Rows = append(out.Rows, row)
	}
	var b strings.Builder
	b.WriteString(paragraph(t.title(), s) + "\n")
	for _, line := range s.Table(out) {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
	for _, n := range t.notes {
		b.WriteString(paragraph("note: "+n, s))
	}
	x, err := t.bind(t.climb.Candidates()[0])
	if err != nil {
		return err
	}
	defer x.Discard() //nolint:errcheck // closing the session tries again
	b.WriteString(paragraph(fmt.Sprintf("snug tune would run at most %s, starting with:", counted(t.o.trials, "trial")), s))
	b.WriteString("  " + commandWithScript(x) + "\n")
	_, err = io.WriteString(t.env.Stdout, b.String())
	return err
}
