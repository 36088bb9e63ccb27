// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the rules of docs/lint.md")

// TestPage checks that docs/lint.md ends with the rules of this package.
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
	want := text + head + Page()
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
