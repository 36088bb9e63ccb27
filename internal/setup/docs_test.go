// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of docs/setup.md")

const docsFile = "../../docs/setup.md"

// TestDocs checks that the table at the end of docs/setup.md is the one in this package.
func TestDocs(t *testing.T) {
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	text, _, found := strings.Cut(string(got), tableHead)
	if !found {
		t.Fatal("docs/setup.md has no table of settings")
	}
	want := text + documentation()
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/setup.md is out of date; go test ./internal/setup -run TestDocs -update\n%s", diff)
	}
}

// TestDocsExample checks that the first setup in docs/setup.md is valid.
func TestDocsExample(t *testing.T) {
	page, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	raw, err := NewReader(strings.NewReader(example)).Next()
	if err != nil || raw.Err != nil {
		t.Fatal(err, raw.Err)
	}
	s, err := Decode(raw.Fields, Source{})
	if err != nil || s.ID != "my run" || s.LoRA.Rank != 16 {
		t.Errorf("%+v: %v", s, err)
	}
}

// tableHead is the header of the table.
const tableHead = "| field | flag | values | default | plan | files | meaning |\n"

func documentation() string {
	var b strings.Builder
	b.WriteString(tableHead + "| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, x := range Settings() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", x.Name, flagsText(x), valuesText(x), defaultText(x), planText(x), map[bool]string{true: "yes"}[x.Has(InFiles)], x.Plain())
	}
	return b.String()
}

func flagsText(x *Setting) string {
	var out []string
	for _, f := range x.Flags {
		out = append(out, "`--"+f.Name+"`")
	}
	return strings.Join(out, ", ")
}

func valuesText(x *Setting) string {
	if len(x.Words) == 0 {
		return string(x.Kind())
	}
	words := "`" + strings.Join(x.Words, "`, `") + "`"
	if x.Kind() == Names {
		return "list of " + words
	}
	return words
}

func defaultText(x *Setting) string {
	if x.Default == nil {
		return ""
	}
	return fmt.Sprintf("`%v`", x.Default)
}

func planText(x *Setting) string {
	switch {
	case x.Has(Allowed):
		return "may change"
	case x.Has(InPlan):
		return "chooses"
	case x.Lever != nil:
		return "lever"
	}
	return ""
}
