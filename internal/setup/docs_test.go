// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/settings.md")

const docsFile = "../../docs/settings.md"

// TestDocs checks that docs/settings.md matches the table.
func TestDocs(t *testing.T) {
	want := documentation()
	if *update {
		if err := os.WriteFile(docsFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/settings.md is out of date; go test ./internal/setup -run TestDocs -update\n%s", diff)
	}
}

func documentation() []byte {
	b := bytes.NewBufferString(`# Settings

The settings of a run, in addition to its model. This page is generated from the table in
` + "`internal/setup`" + `. *Plan* is what ` + "`snug optimize`" + ` does with a setting: it *chooses* it, *may change* it
(in ways that change what is trained only if ` + "`--allow`" + ` names it), or shows how much it would save (*lever*). *Files* says whether ` + "`snug apply`" + `
can write it into config files ([which keys](configs.md)).

| field | flag | values | default | plan | files | meaning |
| --- | --- | --- | --- | --- | --- | --- |
`)
	for _, x := range Settings() {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", x.Name, flagsText(x), valuesText(x), defaultText(x), planText(x), map[bool]string{true: "yes"}[x.Has(InFiles)], x.Plain())
	}
	return b.Bytes()
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
