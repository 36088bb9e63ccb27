// SPDX-License-Identifier: Apache-2.0

package change

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKey checks that with another key or none, the journal counts as someone else's, even on the same
// machine and in the same folder.
func TestKey(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "train.yaml"), []byte("batch: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	s, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &Entry{}
	if err := s.seal(e); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(keyFile())
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() < 20 {
		t.Fatalf("the key: %v, %v", info, err)
	}
	again, err := Open(root, Options{})
	if err != nil || !again.owns(e) {
		t.Errorf("the same user does not own the entry: %v", err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	other, err := Open(root, Options{})
	if err != nil || other.owns(e) {
		t.Errorf("another user owns the entry: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(keyFile()), ".journal-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestLongNamesOfForeignJournals(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := s.foreignText([]*Entry{{owner: owner{Folder: strings.Repeat("ä", 1<<20), Host: strings.Repeat("h", 1<<20)}}})
	if len(text) > 700 {
		t.Errorf("the message has %d bytes", len(text))
	}
}
