// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"snug/internal/config/configtest"
	"snug/internal/config/systems"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestAdapters runs testdata/adapters/*.txtar. Each contains a project's files; its comment lists the
// settings to change (set:), the file to use if the folder has several (main:), and the files with Windows
// line endings (crlf:). The expected output is the settings found (found), the notes (notes), the warnings
// about memory that is not counted (doubts), the setup (setup) and the changed lines (diff).
func TestAdapters(t *testing.T) {
	names, err := filepath.Glob("testdata/adapters/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := parseCase(ar)
			got := c.run(t)
			if diff := cmp.Diff(c.want, got); diff != "" && !*update {
				t.Errorf("-want +got; rewrite with -update:\n%s", diff)
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(c.rewritten(got)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// fixture is one file of testdata/adapters.
type fixture struct {
	comment []byte
	files   fstest.MapFS
	order   []txtar.File
	set     []string
	main    []string
	want    map[string]string
}

var outputs = []string{"found", "setup", "diff", "notes", "doubts", "error"}

func parseCase(ar *txtar.Archive) *fixture {
	c := &fixture{comment: ar.Comment, files: fstest.MapFS{}, want: map[string]string{}}
	var crlf []string
	for line := range strings.Lines(string(ar.Comment)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "set":
			c.set = strings.Fields(rest)
		case "main":
			c.main = strings.Fields(rest)
		case "crlf":
			crlf = strings.Fields(rest)
		}
	}
	for _, f := range ar.Files {
		if slices.Contains(outputs, f.Name) {
			c.want[f.Name] = string(f.Data)
			continue
		}
		data := f.Data
		if slices.Contains(crlf, f.Name) {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		c.order = append(c.order, f)
		c.files[f.Name] = &fstest.MapFile{Data: data}
	}
	return c
}

func (c *fixture) rewritten(got map[string]string) *txtar.Archive {
	ar := &txtar.Archive{Comment: c.comment, Files: c.order}
	for _, name := range outputs {
		if text, ok := got[name]; ok {
			ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	return ar
}

// run opens the project, changes the settings and returns the results by section.
func (c *fixture) run(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	p, err := Open(c.files, ".", c.main...)
	if err != nil {
		return map[string]string{"error": err.Error() + "\n"}
	}
	var found strings.Builder
	for _, b := range p.Bindings {
		fmt.Fprintf(&found, "%s = %s at %s:%d:%d %s (%s: %s)\n", b.Setting, shown(b.Value), b.File, b.Line, b.Column, b.Path, b.System, firstLine(b.Text))
	}
	out["found"] = found.String()
	out["setup"] = setupText(p)
	if doubts := p.Warnings(p.Fields()); len(doubts) > 0 {
		out["doubts"] = strings.Join(doubts, "\n") + "\n"
	}
	notes := slices.Clone(p.Notes)
	if len(c.set) > 0 {
		out["diff"], notes = c.change(t, p, notes)
	}
	if len(notes) > 0 {
		out["notes"] = strings.Join(notes, "\n") + "\n"
	}
	return out
}

// change applies the plan and returns the changed lines and the notes.
func (c *fixture) change(t *testing.T, p *Project, notes []string) (string, []string) {
	t.Helper()
	plan, err := p.Change(configtest.Values(c.settings(t)))
	if err != nil {
		return "error: " + err.Error() + "\n", notes
	}
	after, err := configtest.Applied(c.files, plan.Edits, plan.Creates)
	if err != nil {
		t.Fatal(err)
	}
	return lineDiff(c.files, after), append(notes, plan.Notes...)
}

// settings returns the settings that the fixture changes.
func (c *fixture) settings(t *testing.T) map[string]any {
	t.Helper()
	want := map[string]any{}
	for _, s := range c.set {
		name, v, err := systems.ParseSetting(s)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = v
	}
	return want
}
