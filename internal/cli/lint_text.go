// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"snug/internal/lint"
)

// print prints findings in the requested format.
func (o *lintOptions) print(env Env, findings []lint.Finding, checked, fixed int) error {
	switch o.format {
	case "json":
		for _, f := range findings {
			if err := printJSON(env.Stdout, f); err != nil {
				return err
			}
		}
		return nil
	case "sarif":
		log, err := lint.SARIF(findings, env.Build.Version)
		if err != nil {
			return err
		}
		return printLines(env.Stdout, []string{string(log)})
	}
	var lines []string
	for _, f := range findings {
		if o.format == "github" {
			lines = append(lines, f.GitHub())
		} else {
			lines = append(lines, f.String())
		}
	}
	if o.format == "text" && checked > 0 {
		lines = append(lines, lintSummary(findings, checked, fixed))
	}
	if len(lines) == 0 {
		return nil
	}
	return printLines(env.Stdout, lines)
}

// nothingChecked is the note for a call without files to check. It is not an error, because a hook may pass other files.
const nothingChecked = "no Python file or notebook found, so nothing was checked"

// lintSummary returns the last line: how many findings there are, and how many --fix can repair.
func lintSummary(findings []lint.Finding, checked, fixed int) string {
	var b strings.Builder
	if fixed > 0 {
		fmt.Fprintf(&b, "Repaired %s; snug revert undoes it. ", countOf(fixed, "finding"))
	}
	if len(findings) == 0 {
		fmt.Fprintf(&b, "Nothing found in %s.", countOf(checked, "file"))
		return b.String()
	}
	in, fixable := map[string]bool{}, 0
	for _, f := range findings {
		in[f.Path] = true
		if f.Fixed != "" {
			fixable++
		}
	}
	fmt.Fprintf(&b, "%s in %d of %s.", countOf(len(findings), "finding"), len(in), countOf(checked, "file"))
	if fixable > 0 {
		fmt.Fprintf(&b, " --fix repairs %d.", fixable)
	}
	return b.String()
}

// countOf returns "1 file" or "2 files".
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ruleTable lists all rules.
func ruleTable() []string {
	var out []string
	for _, r := range lint.Rules() {
		notes := ""
		if r.Fixes {
			notes += " (--fix)"
		}
		if r.Optional {
			notes += " (only with --select)"
		}
		out = append(out, r.Code+"  "+r.Title+notes)
	}
	return out
}

// ruleText explains a rule.
func ruleText(r lint.Rule, width int) string {
	var b strings.Builder
	paragraph := func(text string) {
		b.WriteString(strings.Join(wrap(strings.Fields(text), " ", width), "\n") + "\n\n")
	}
	paragraph(r.Code + " (" + r.Name + "): " + r.Title + ".")
	paragraph(r.Why)
	paragraph(r.Evidence)
	if r.Optional {
		paragraph("This rule is off unless --select names it.")
	}
	b.WriteString("Instead of\n\n" + codeBlock(r.Bad) + "\nwrite\n\n" + codeBlock(r.Good))
	return b.String()
}

// codeBlock indents code.
func codeBlock(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
