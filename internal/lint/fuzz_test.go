// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"snug/internal/pysrc"
)

// FuzzSource checks that any file is linted or refused with a one-line error, that findings are inside the file, and
// that a fixed file still parses.
func FuzzSource(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no files to begin with: %v", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data, false)
		}
	}
	f.Add([]byte(`{"cells": [{"cell_type": "code", "source": ["import torch\n", "%time x\n"]}]}`), true)
	f.Fuzz(func(t *testing.T, src []byte, notebook bool) {
		name := "x.py"
		if notebook {
			name = "x.ipynb"
		}
		found, err := Source(name, src, everything())
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, name+":") || strings.ContainsAny(text, "\n\r") {
				t.Errorf("not a one-line error with its position: %q", text)
			}
			return
		}
		for _, x := range found {
			if x.Line < 1 || x.Column < 1 {
				t.Errorf("a finding outside the file: %s", x)
			}
		}
		if fixed, n := Fix(name, src, found); n > 0 {
			if _, err := pysrc.Parse(name, fixed); err != nil {
				t.Errorf("after %d repairs: %v", n, err)
			}
		}
		Keeper(src, 3)
	})
}
