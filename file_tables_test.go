// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileRow matches a row of a file table in a comment, and inTable the names in the row.
var (
	fileRow = regexp.MustCompile(`(?m)^//\t\s*(?:[a-z0-9_*]+\.go(?:, )?)+\s`)
	inTable = regexp.MustCompile(`[a-z0-9_*]+\.go`)
)

// TestFileTables checks that a package comment with a table of files lists every file in the package. Tables in other
// comments (ragged.go) count too.
func TestFileTables(t *testing.T) {
	packages, err := filepath.Glob("internal/*")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, dir := range packages {
		listed, hasTable := listedFiles(t, dir)
		if !hasTable {
			continue
		}
		tables++
		for _, file := range sources(t, dir) {
			if !matchesAny(listed, file) && !(dir == "internal/cli" && ofCommand(file)) {
				t.Errorf("%s: the table of files lacks %s", dir, file)
			}
		}
		for _, name := range listed {
			if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) == 0 {
				t.Errorf("%s: the table of files names %s, which does not exist", dir, name)
			}
		}
	}
	if tables < 6 {
		t.Errorf("found %d packages with tables of files, want at least 6", tables)
	}
}

// listedFiles returns the names in a package's file tables; a name may be a pattern such as process_*.go.
func listedFiles(t *testing.T, dir string) (names []string, hasTable bool) {
	for _, file := range sources(t, dir) {
		src, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, comment := range regexp.MustCompile(`(?m)(?:^//.*\n)+`).FindAllString(string(src), -1) {
			if len(fileRow.FindAllString(comment, -1)) >= 3 {
				hasTable = true
				names = append(append(names, file), inTable.FindAllString(comment, -1)...)
			}
		}
	}
	return names, hasTable
}

// sources returns the names of a package's files, without tests.
func sources(t *testing.T, dir string) (names []string) {
	found, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !strings.HasSuffix(f, "_test.go") {
			names = append(names, filepath.Base(f))
		}
	}
	return names
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// ofCommand reports whether the name of a file in package cli begins with the name of a command.
func ofCommand(file string) bool {
	for _, command := range []string{"apply", "check", "diagnose", "estimate", "gpus", "history", "init", "lint", "max_batch", "models", "optimize", "predict", "profile", "replay", "revert", "serve", "tune", "version", "watch"} {
		if file == command+".go" || strings.HasPrefix(file, command+"_") {
			return true
		}
	}
	return false
}
