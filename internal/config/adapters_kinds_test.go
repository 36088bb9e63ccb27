// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"snug/internal/config/configtest"
	"snug/internal/config/systems"
)

// fixtures returns all fixtures in testdata/adapters by name.
func fixtures(t *testing.T) map[string]*fixture {
	t.Helper()
	names, err := filepath.Glob("testdata/adapters/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*fixture{}
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".txtar")] = parseCase(ar)
	}
	return out
}

// TestEveryAdapterHasAFixture checks that some fixture is read with each system.
func TestEveryAdapterHasAFixture(t *testing.T) {
	seen := map[string]bool{}
	for name, c := range fixtures(t) {
		p, err := Open(c.files, ".", c.main...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, b := range p.Bindings {
			seen[b.System] = true
		}
	}
	for _, a := range systems.All() {
		if !seen[a.Name] {
			t.Errorf("no fixture in testdata/adapters is read as %s", a.Name)
		}
	}
}

// TestWindowsLineEndings checks that every fixture changes in the same way with Windows line endings. Shell
// scripts are left alone because bash cannot read them with such endings.
func TestWindowsLineEndings(t *testing.T) {
	for name, c := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			want := windows(c.changed(t))
			c.files = windows(c.files)
			got := c.changed(t)
			for file := range want {
				if diff := cmp.Diff(string(want[file].Data), string(got[file].Data)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", file, diff)
				}
			}
		})
	}
}

// windows returns a project with Windows line endings.
func windows(files fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for name, f := range files {
		data := f.Data
		if filepath.Ext(name) != ".sh" {
			data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

// changed returns the project after the fixture's change.
func (c *fixture) changed(t *testing.T) fstest.MapFS {
	t.Helper()
	p, err := Open(c.files, ".", c.main...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Change(configtest.Values(c.settings(t)))
	if err != nil {
		t.Fatal(err)
	}
	after, err := configtest.Applied(c.files, plan.Edits, plan.Creates)
	if err != nil {
		t.Fatal(err)
	}
	return after
}
