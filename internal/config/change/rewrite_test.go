// SPDX-License-Identifier: Apache-2.0

package change

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRewrites replaces a script, keeps its mode, and reverts it; a script that changed since is refused.
func TestRewrites(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "train.py")
	if err := os.WriteFile(name, []byte("a\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, root, Options{Folder: quickly})
	c, err := s.PlanRewrites([]Rewrite{{File: "train.py", Before: []byte("a\n"), After: []byte("b\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(c, "test"); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("the file contains %q, want %q: %v", got, want, err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("the mode changed: %v %v", info, err)
		}
	}
	expect("b\n")
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	expect("a\n")
	_, err = s.PlanRewrites([]Rewrite{{File: "train.py", Before: []byte("x\n"), After: []byte("y\n")}})
	if err == nil || !strings.HasPrefix(err.Error(), "train.py: the file changed") {
		t.Errorf("a file that changed: %v", err)
	}
}
