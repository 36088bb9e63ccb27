// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPaths lists a folder with all kinds of contents.
func TestPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.py", "b.ipynb", "c.txt", "src/d.py", "src/old/e.py", ".git/f.py", "venv/lib/g.py", "src/.h.py"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"src/loop": "..", "self.py": "self.py"} {
		if err := os.Symlink(to, from); err != nil {
			t.Skip(err)
		}
	}
	got, err := Paths([]string{".", "c.txt", "a.py"}, func(p string) bool { return filepath.Base(p) == "old" })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.py", "b.ipynb", "self.py", filepath.FromSlash("src/d.py"), "c.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCheckGoesOn checks that a bad file does not prevent the others from being checked, and that the results are in
// file order.
func TestCheckGoesOn(t *testing.T) {
	sources := map[string]string{
		"a.py": "import torch\ntorch.cuda.amp.GradScaler()\n",
		"b.py": "def f(:\n",
		"c.py": strings.Repeat("(", 100_000),
		"d.py": "import torch\ntorch.cuda.amp.GradScaler()\n",
	}
	read := func(p string) ([]byte, error) {
		if src, ok := sources[p]; ok {
			return []byte(src), nil
		}
		return nil, fmt.Errorf("reading %s: gone", p)
	}
	var got []string
	for _, r := range Check([]string{"a.py", "b.py", "c.py", "e.py", "d.py"}, read, Options{}) {
		got = append(got, fmt.Sprintf("%s %d %v", r.Path, len(r.Findings), r.Err != nil))
	}
	want := []string{"a.py 1 false", "b.py 0 true", "c.py 0 true", "e.py 0 true", "d.py 1 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
