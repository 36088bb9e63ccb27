// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

const modelsPage = `.TH SNUG\-MODELS 1 "2026-11-17" "snug 1.2.3" "User Commands"
.SH NAME
snug\-models \- List the models that are known by name
.SH SYNOPSIS
`

// TestPages checks that every command has a man page with all its flags, and that groff formats it without warnings.
func TestPages(t *testing.T) {
	pages, err := Pages("1.2.3", "2026-11-17")
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, p := range pages {
		text[p.Name] = string(p.Data)
	}
	for _, c := range newRoot(Env{}).Commands() {
		page := text["snug-"+c.Name()+".1"]
		if c.Name() == "help" || !c.IsAvailableCommand() {
			continue
		}
		for _, want := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXIT STATUS", `.BR snug (1)`} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %s", c.Name(), want)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, roff("--"+f.Name)+`\fR`) {
				t.Errorf("the page of %s lacks --%s", c.Name(), f.Name)
			}
		})
		if !strings.Contains(text["snug.1"], roff("snug-"+c.Name())+" (1)") {
			t.Errorf("snug.1 does not name %s", c.Name())
		}
	}
	if diff := cmp.Diff(modelsPage, text["snug-models.1"][:len(modelsPage)]); diff != "" {
		t.Errorf("snug-models.1 (-want +got):\n%s", diff)
	}
	for _, name := range []string{"snug.bash", "_snug", "snug.fish", "snug.ps1"} {
		if len(text[name]) < 1000 {
			t.Errorf("%s has %d bytes", name, len(text[name]))
		}
	}
	formats(t, text)
}

// formats runs groff on the pages, if it is installed.
func formats(t *testing.T, pages map[string]string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	for name, page := range pages {
		if !strings.HasSuffix(name, ".1") {
			continue
		}
		var said bytes.Buffer
		cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin, cmd.Stderr = strings.NewReader(page), &said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, said.String())
		}
	}
}

// TestRoff checks that text is escaped.
func TestRoff(t *testing.T) {
	if got, want := lines(".hidden\n'quoted\na\\b --flag…"), "\\&.hidden\n\\&'quoted\na\\eb \\-\\-flag\\[u2026]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
