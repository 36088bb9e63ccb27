// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
)

// Page returns the part of docs/lint.md that comes from the rules: a table of all, then each with its reasons
// and examples.
func Page() string {
	var b strings.Builder
	b.WriteString("| code | what it finds | |\n| --- | --- | --- |\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Title, notes(r))
	}
	group := byte(0)
	for _, r := range Rules() {
		if r.Code[3] != group {
			group = r.Code[3]
			fmt.Fprintf(&b, "\n## SNG%c: %s\n", group, Groups()[group])
		}
		fmt.Fprintf(&b, "\n### %s\n\n**%s.** %s\n\n%s\n\n```python\n# instead of\n%s\n# write\n%s```\n", r.Code, capital(r.Title), r.Why, r.Evidence, r.Bad, r.Good)
	}
	return b.String()
}

// notes returns what the table says about a rule besides its title.
func notes(r Rule) string {
	var out []string
	if r.Fixes {
		out = append(out, "`--fix`")
	}
	if r.Optional {
		out = append(out, "only with `--select`")
	}
	return strings.Join(out, ", ")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
