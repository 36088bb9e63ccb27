// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// BenchmarkLint lints 100,000 lines in files of 500 lines. Each file repeats the snippets, each as its own
// function.
func BenchmarkLint(b *testing.B) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		b.Fatal(err)
	}
	var functions []string
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range archive.Files {
			body := strings.ReplaceAll(strings.TrimSpace(string(f.Data)), "\n", "\n    ")
			functions = append(functions, fmt.Sprintf("def f%d():\n    %s\n\n\n", len(functions), body))
		}
	}
	sources, paths := map[string][]byte{}, []string(nil)
	for lines, n := 0, 0; lines < 100_000; {
		var src strings.Builder
		for strings.Count(src.String(), "\n") < 500 {
			src.WriteString(functions[n%len(functions)])
			n++
		}
		name := fmt.Sprintf("%d.py", len(paths))
		sources[name], paths = []byte(src.String()), append(paths, name)
		lines += strings.Count(src.String(), "\n")
	}
	read := func(p string) ([]byte, error) { return sources[p], nil }
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range Check(paths, read, Options{}) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
}
