// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedPages runs the commands of docs/profile.md, docs/number.md and the pages in docs/seeds in order, in a folder
// with the measured recordings, and compares their output with the pages.
func TestRecordedPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/seeds/*.md")
	if err != nil || len(pages) != 5 {
		t.Fatalf("%d pages of seeds: %v", len(pages), err)
	}
	for _, path := range append(pages, "../../docs/profile.md", "../../docs/number.md") {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := shownAgain(t, string(page))
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(page), got); diff != "" {
			t.Errorf("%s shows (-), the commands print (+); -update writes it:\n%s", path, diff)
		}
	}
}

// shownAgain returns a page with the current output of its commands, which run in order in one folder.
func shownAgain(t *testing.T, page string) string {
	t.Helper()
	written := map[string][]byte{}
	env := Env{
		Getenv: func(name string) string {
			return map[string]string{"LANG": "C.UTF-8", "SNUG_STORE": filepath.Join(t.TempDir(), "measured.db")}[name]
		},
		Open: func(path string) (io.ReadCloser, error) {
			if data, ok := written[path]; ok {
				return io.NopCloser(bytes.NewReader(data)), nil
			}
			if f, err := os.Open(filepath.Join("../../docs/seeds", path)); err == nil {
				return f, nil
			}
			return os.Open(filepath.Join("../../testdata/measured/traces", path))
		},
		WriteFile: func(path string, data []byte) error {
			written[path] = data
			return nil
		},
	}
	const fence, prompt = "```\n", "```\n$ snug "
	parts := strings.Split(page, prompt)
	for i, part := range parts[1:] {
		shown, after, _ := strings.Cut(part, "\n"+fence)
		command, _, _ := strings.Cut(strings.ReplaceAll(shown, "\\\n", "\\\r"), "\n")
		var out strings.Builder
		env.Stdout, env.Stderr = &out, &out
		args := strings.Fields(strings.ReplaceAll(command, "\\\r", " "))
		if code := Run(context.Background(), env, args); code != exitDone {
			t.Errorf("snug %s: exit code %d: %s", strings.Join(args, " "), code, out.String())
		}
		parts[i+1] = strings.ReplaceAll(command, "\r", "\n") + "\n" + out.String() + fence + after
	}
	return strings.Join(parts, prompt)
}

// TestReadmeExample checks that the README's first command prints the output shown below it.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```\n$ go run ./cmd/snug ")
	shown, _, _ := strings.Cut(rest, "```")
	command, want, _ := strings.Cut(strings.Replace(shown, "\\\n", "", 1), "\n")
	var out bytes.Buffer
	env := Env{
		Stdout: &out, Stderr: io.Discard, Open: func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist },
		Getenv: func(name string) string {
			return map[string]string{"LANG": "C.UTF-8", "SNUG_STORE": filepath.Join(t.TempDir(), "measured.db")}[name]
		},
	}
	if code := Run(context.Background(), env, strings.Fields(command)); code != exitDone {
		t.Fatalf("%s: exit code %d", command, code)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("the README shows (-), the command prints (+):\n%s", diff)
	}
}
