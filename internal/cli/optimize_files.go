// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/units"
)

// finish prints the plans, and writes the settings if asked to. If they cannot be written, the plans are still shown.
func (o *optimizeOptions) finish(env Env, t *today, where places, plans []*plan.Plan) error {
	report, unwritten := o.files(env, t, plans)
	if err := o.show(env, t, where, plans, report); err != nil {
		return err
	}
	if unwritten != nil {
		return fmt.Errorf("nothing was written: %w", unwritten)
	}
	return nil
}

// show prints the plans, and what was or would be written.
func (o *optimizeOptions) show(env Env, t *today, where places, plans []*plan.Plan, report *applyReport) error {
	switch {
	case o.json:
		for _, p := range plans {
			if err := printJSON(env.Stdout, o.asJSON(p, t.given)); err != nil {
				return err
			}
		}
		return nil
	case o.short:
		return shortPlans(env.Stdout, env.screen(), plans, o.noToday)
	case len(plans) > 1:
		return cardsText(env.Stdout, env.screen(), plans, strings.EqualFold(o.gpu, "all"), o.rows(env))
	}
	intro, after := o.introduce(env, t, where), ""
	if report != nil {
		var b strings.Builder
		if err := report.text(&b, env.screen()); err != nil {
			return err
		}
		after = "\n" + b.String()
	}
	cpus := 0
	if where.here {
		cpus = env.CPUs
	}
	rows := o.rows(env)
	if rows > 0 {
		rows = max(rows-strings.Count(intro+after, "\n"), 1)
	}
	_, err := io.WriteString(env.Stdout, intro+planReport{plans[0], env.screen(), cpus, o.noToday}.text(rows)+after)
	return err
}

// planJSON is a plan with all its notes.
type planJSON struct {
	*plan.Plan
	Given setup.Values `json:"given,omitempty"` // settings that flags set differently from the files
	Notes []string     `json:"notes,omitempty"`
}

// asJSON returns a plan as --json prints it. Its notes are those that people read on the screen and on standard error.
func (o *optimizeOptions) asJSON(p *plan.Plan, given setup.Values) planJSON {
	notes := slices.Clone(p.Notes)
	for _, n := range allNotes(p.Current.Estimate.Setup, p.Card, o.warnings) {
		if !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	return planJSON{p, given, notes}
}

// rows returns how many rows an answer may have; 0 for any number.
func (o *optimizeOptions) rows(env Env) int {
	if o.explain {
		return 0
	}
	return env.screen().Height
}

// noConfig is the note that the run is the built-in example.
const noConfig = "No training config was found here, so this is a built-in example. Give your own run with --model and --batch, or --setup"

// introduce returns sentences about what was assumed: that this is an example, or which card was found.
func (o *optimizeOptions) introduce(env Env, t *today, where places) string {
	var sentences []string
	if t.example {
		sentences = append(sentences, noConfig+".")
		if in, err := env.find(filepath.Join(o.folder, profileFile)); err == nil {
			_ = in.Close()
			sentences = append(sentences, fmt.Sprintf("For the run recorded here, use --model %s --batch N.", profileFile))
		}
	}
	if t.project != nil {
		sentences = append(sentences, fmt.Sprintf("The current settings are from %s%s.", t.project.Origin(), givenText(t.given)))
	}
	if o.measured != nil {
		sentences = append(sentences, o.measuredText()...)
	}
	if where.found != "" {
		text := "The card is " + where.found
		if where.taken > 0 {
			text += fmt.Sprintf(", with %v in use", units.Bytes(where.taken))
		}
		sentences = append(sentences, text+".")
	}
	if len(sentences) == 0 {
		return ""
	}
	return paragraph(strings.Join(sentences, " "), env.screen()) + "\n"
}

// files lists the values in the project's files that the recommended settings change, and changes them with
// --apply.
func (o *optimizeOptions) files(env Env, t *today, plans []*plan.Plan) (*applyReport, error) {
	if t.project == nil || len(plans) != 1 || plans[0].Recommended == nil {
		return nil, nil
	}
	want, err := fromSettings(changes(plans[0]))
	if err != nil {
		return nil, err
	}
	want.advised, want.given = true, t.given
	report, err := o.write(env, want, o.apply)
	switch {
	case err != nil && o.apply:
		return nil, err
	case err != nil:
		plans[0].Notes = append(plans[0].Notes, oneLine(err.Error())+".")
		return nil, nil
	}
	report.flag = "--apply"
	report.notes = slices.DeleteFunc(report.notes, func(n string) bool { return slices.Contains(o.warnings, n) }) // warnings are printed separately
	for _, v := range report.change.Values {
		plans[0].Files = append(plans[0].Files, plan.File{Path: v.File, Key: v.Path.String(), From: v.From, To: v.To})
	}
	return report, nil
}

// changes returns the recommended settings that differ from the current ones.
func changes(p *plan.Plan) setup.Values {
	return p.Recommended.Settings.Changed(p.Current.Settings)
}
