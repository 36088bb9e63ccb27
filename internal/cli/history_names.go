// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"snug/internal/run"
	"snug/internal/store"
)

// A run is stored with its whole command. The interpreter comes first and is often wider than the column, so the
// run is named after its script. The names are only for display; runs are selected by number, in history_delete.go.

// runNames returns the names of the runs in a list: the model, or the script with its folder and as many
// parent folders as are needed to make it unique.
func runNames(runs []store.Run) []string {
	paths := make([]string, len(runs))
	for i, r := range runs {
		paths[i] = oneRow(r.Model)
		if r.Family == "" {
			paths[i] = calledBy(strings.Fields(paths[i]))
		}
	}
	short := shortest(paths)
	for i, path := range paths {
		paths[i] = short[path]
	}
	return paths
}

// shortest returns, for each path, its shortest unique suffix.
func shortest(paths []string) map[string]string {
	names, open := map[string]string{}, map[string]bool{}
	for _, p := range paths {
		open[p] = true
	}
	for n := 2; len(open) > 0; n++ {
		alike := map[string]int{}
		for p := range open {
			alike[lastElements(p, n)]++
		}
		for p := range open {
			names[p] = lastElements(p, n)
			if alike[names[p]] == 1 || names[p] == p {
				delete(open, p)
			}
		}
	}
	return names
}

// oneRow returns text with control characters, such as newlines, replaced by spaces.
func oneRow(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// calledBy returns the script of a command or, if there is none, the command without the folders of its
// program.
func calledBy(words []string) string {
	if i := run.ScriptIndex(words); i >= 0 {
		return filepath.ToSlash(filepath.Clean(words[i]))
	}
	l := run.ReadLaunch(words)
	if l.Program >= len(l.Args) {
		return strings.Join(words, " ")
	}
	words = slices.Clone(l.Args[l.Program:])
	words[0] = filepath.Base(words[0])
	return strings.Join(words, " ")
}

// lastElements returns the last n elements of a path; other text is returned whole.
func lastElements(path string, n int) string {
	parts := strings.Split(path, "/")
	if strings.Contains(path, " ") || len(parts) <= n {
		return path
	}
	return strings.Join(parts[len(parts)-n:], "/")
}
