// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the rules of docs/lint.md")

// TestPage checks that docs/lint.md ends with this package's rules.
func TestPage(t *testing.T) {
	const name, head = "../../docs/lint.md", "\n## Rules\n\n"
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, _, found := strings.Cut(string(got), head)
	if !found {
		t.Fatalf("%s has no section for the rules", name)
	}
	want := text + head + rulesPage()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date; go test ./internal/lint -run TestPage -update\n%s", name, diff)
	}
	for _, r := range Rules() {
		if r.InTests && !strings.Contains(text, r.Code) {
			t.Errorf("%s does not say that %s applies to unit tests", name, r.Code)
		}
	}
}

// groups are the groups of rules, by the first digit of their codes.
var groups = map[byte]string{
	'1': "memory that is kept",
	'2': "evaluation",
	'3': "gradients",
	'4': "sizes",
	'5': "checkpointing",
	'6': "the allocator",
	'7': "loading data",
	'8': "deprecated calls",
}

// rulesPage returns the generated part of docs/lint.md: a table of all rules, followed by the reasons and examples
// for each.
func rulesPage() string {
	var b strings.Builder
	b.WriteString("| code | what it finds | |\n| --- | --- | --- |\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Title, notes(r))
	}
	group := byte(0)
	for _, r := range Rules() {
		if r.Code[3] != group {
			group = r.Code[3]
			fmt.Fprintf(&b, "\n## SNG%c: %s\n", group, groups[group])
		}
		fmt.Fprintf(&b, "\n### %s\n\n**%s.** %s\n\n%s\n\n```python\n# instead of\n%s\n# write\n%s```\n", r.Code, capital(r.Title), r.Why, r.Evidence, r.Bad, r.Good)
	}
	return b.String()
}

// notes returns the remarks on a rule in the table.
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

// capital returns a title with a capital letter, unless it begins with the name of something in Python.
func capital(s string) string {
	if first, _, _ := strings.Cut(s, " "); strings.Contains(first, "_") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
