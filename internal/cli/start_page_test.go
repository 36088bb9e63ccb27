// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

var (
	namedFile = regexp.MustCompile("(?s)save this as `([^`]+)`[^\n]*:\n\n```yaml\n(.*?)```\n")
	shownRun  = regexp.MustCompile("(?s)```\n\\$ (snug [^\n]+)\n(.*?)```\n")
)

// TestStartPage runs docs/start.md as a script, which creates the page's file, runs its commands in order and compares
// their output with the page.
func TestStartPage(t *testing.T) {
	const path = "../../docs/start.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, runs := namedFile.FindSubmatch(page), shownRun.FindAllSubmatch(page, -1)
	if file == nil || len(runs) < 4 {
		t.Fatalf("the page names a file: %v; it shows %d commands", file != nil, len(runs))
	}
	var script strings.Builder
	archive := &txtar.Archive{Files: []txtar.File{{Name: string(file[1]), Data: file[2]}}}
	for i, run := range runs {
		fmt.Fprintf(&script, "%s\ncmp stdout printed-%d\n", run[1], i)
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("printed-%d", i), Data: run[2]})
	}
	archive.Comment = []byte(script.String())
	folder := t.TempDir()
	name := filepath.Join(folder, "start.txtar")
	if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("script", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Files: []string{name}, UpdateScripts: *update,
			Setup: func(e *testscript.Env) error {
				e.Setenv("SNUG_STORE", filepath.Join(e.WorkDir, ".store", "measured.db"))
				e.Setenv("LANG", "C.UTF-8")
				return nil
			},
		})
	})
	if *update {
		writeStartPage(t, path, page, name)
	}
}

// writeStartPage replaces the outputs in the page with what the commands print.
func writeStartPage(t *testing.T, path string, page []byte, script string) {
	t.Helper()
	done, err := txtar.ParseFile(script)
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string][]byte{}
	for _, f := range done.Files {
		printed[f.Name] = f.Data
	}
	i := -1
	out := shownRun.ReplaceAllFunc(page, func(block []byte) []byte {
		i++
		return fmt.Appendf(nil, "```\n$ %s\n%s```\n", shownRun.FindSubmatch(block)[1], printed[fmt.Sprintf("printed-%d", i)])
	})
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
}
