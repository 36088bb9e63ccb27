// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNotesPage checks that the notes quoted in docs/not-simulated.md still match the code. An ellipsis stands
// for a name that the code inserts.
func TestNotesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/not-simulated.md")
	if err != nil {
		t.Fatal(err)
	}
	code := sources(t)
	quotes := regexp.MustCompile(`\| "([^"]+)" \|`).FindAllStringSubmatch(string(page), -1)
	if len(quotes) < 15 {
		t.Fatalf("only %d notes are quoted", len(quotes))
	}
	for _, q := range quotes {
		if !strings.Contains(code, strings.ReplaceAll(q[1], "…", "%s")) {
			t.Errorf("no source contains %q", q[1])
		}
	}
}

// sources returns the program's own source, without tests.
func sources(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
