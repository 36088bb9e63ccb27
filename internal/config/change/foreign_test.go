// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// neighbor returns a folder with a project and, next to it, a file that does not belong to the project.
func neighbor(t *testing.T) (root, secret string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, secret = filepath.Join(top, "proj"), filepath.Join(top, "secret.txt")
	write(t, root, project)
	if err := os.WriteFile(secret, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, secret
}

// forged returns a journal entry that would overwrite files if it were trusted.
func forged(state string, paths ...string) map[string]string {
	e := Entry{Version: journalVersion, ID: 1, Note: "batch=8"}
	for _, p := range paths {
		e.Files = append(e.Files, journalFile{Path: p, Mode: "0777", Before: []byte("owned"), After: digest([]byte("mine"))})
	}
	text, _ := json.Marshal(e)
	revert, _ := json.Marshal(map[string]any{"version": journalVersion, "ids": []int{1}, "force": true})
	return map[string]string{entryName(1, state): string(text), revertName: string(revert)}
}

// everything runs each command that a user may run in a folder.
func everything(t *testing.T, root string, o Options) {
	t.Helper()
	o.Folder = quickly
	s := open(t, root, o)
	_, _ = s.Revert(1, false)
	_, _ = s.Revert(1, true)
	_, _ = s.Recover(true)
	_ = apply(s, edits, creates)
	_, _ = s.List()
	_ = s.LastCheckpoint()
}

// TestForgedJournal puts an attacker's journals into a folder and checks that they change nothing, inside or
// outside it.
func TestForgedJournal(t *testing.T) {
	for _, p := range []string{
		"SECRET", "../secret.txt", "conf/../../secret.txt", "./../secret.txt", "conf/../ds.json", "..", ".", "", "/", ".git/hooks/pre-commit", ".snug/lock", "link/secret.txt", "secretlink",
		`..\secret.txt`, "ds.json",
	} {
		for _, state := range []string{begun, done} {
			t.Run(p+state, func(t *testing.T) {
				root, secret := neighbor(t)
				_ = os.Symlink("..", filepath.Join(root, "link"))
				_ = os.Symlink("../secret.txt", filepath.Join(root, "secretlink"))
				write(t, root, map[string]string{".git/hooks/pre-commit": "mine", "ds.json": "mine"})
				write(t, root, forged(state, strings.ReplaceAll(p, "SECRET", secret)))
				everything(t, root, Options{})
				wantFile(t, secret, "mine")
				wantFile(t, filepath.Join(root, "ds.json"), "mine")
				wantFile(t, filepath.Join(root, ".git/hooks/pre-commit"), "mine")
			})
		}
	}
}

// TestSealedPaths seals forged entries as if snug had written them, so that only the path checks can stop
// them.
func TestSealedPaths(t *testing.T) {
	for _, p := range []string{"SECRET", "../secret.txt", "link/secret.txt", "secretlink", ".git/hooks/pre-commit", ".snug/.gitignore"} {
		for _, state := range []string{begun, done} {
			t.Run(p+state, func(t *testing.T) {
				root, secret := neighbor(t)
				_ = os.Symlink("..", filepath.Join(root, "link"))
				_ = os.Symlink("../secret.txt", filepath.Join(root, "secretlink"))
				write(t, root, map[string]string{".git/hooks/pre-commit": "mine", ".snug/.gitignore": "mine"})
				var e Entry
				if err := json.Unmarshal([]byte(forged(state, strings.ReplaceAll(p, "SECRET", secret))[entryName(1, state)]), &e); err != nil {
					t.Fatal(err)
				}
				s := open(t, root, Options{Folder: quickly})
				if err := s.seal(&e); err != nil {
					t.Fatal(err)
				}
				text, _ := json.Marshal(e)
				write(t, root, map[string]string{entryName(1, state): string(text)})
				if l, err := s.list(); err == nil && len(l.own[state]) == 0 {
					t.Fatal("the entry was not accepted as our own, so the test checks nothing")
				}
				everything(t, root, Options{})
				wantFile(t, secret, "mine")
				wantFile(t, filepath.Join(root, ".git/hooks/pre-commit"), "mine")
				wantFile(t, filepath.Join(root, ".snug/.gitignore"), "mine")
			})
		}
	}
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s contains %q (%v), want %q", name, got, err, want)
	}
}

// TestLinkedFolders checks that nothing is written through links in the place of snug's own folders and
// files.
func TestLinkedFolders(t *testing.T) {
	for _, at := range []string{".snug", ".snug/journal", ".snug/lock", ".snug/journal/000001.done", ".snug/journal/revert", "ds.json.backup", ".ds.json.snug-tmp", "ds.json"} {
		t.Run(at, func(t *testing.T) {
			root, secret := neighbor(t)
			elsewhere := filepath.Join(filepath.Dir(root), "elsewhere")
			write(t, elsewhere, map[string]string{"keep": "mine", "ds.json": project["ds.json"]})
			before := tree(t, elsewhere)
			to := elsewhere
			if strings.Contains(filepath.Base(at), "json") || filepath.Base(at) == "lock" || filepath.Base(at) == "revert" || strings.HasSuffix(at, ".done") {
				to = filepath.Join(elsewhere, "ds.json")
			}
			_ = os.Remove(filepath.Join(root, at))
			_ = os.MkdirAll(filepath.Dir(filepath.Join(root, at)), 0o755)
			if err := os.Symlink(to, filepath.Join(root, at)); err != nil {
				t.Skip(err)
			}
			everything(t, root, Options{})
			same(t, before, tree(t, elsewhere))
			wantFile(t, secret, "mine")
		})
	}
}

// TestOutside checks that edits outside the folder are refused, with advice.
func TestOutside(t *testing.T) {
	root, secret := neighbor(t)
	outside := filepath.Join(filepath.Dir(root), "x.yaml")
	if err := os.WriteFile(outside, []byte("batch: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "link.yaml")); err != nil {
		t.Skip(err)
	}
	s := open(t, root, Options{Folder: quickly})
	for _, name := range []string{"../x.yaml", outside, "link.yaml", "conf/../../x.yaml"} {
		_, err := s.Plan([]Edit{{File: name, Path: edits[3].Path[:0:0], Value: 1}}, nil)
		if !errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), "--dir") || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	for _, name := range []string{"../new.yaml", secret + ".yaml", ".snug/x.yaml", ".git/x.yaml"} {
		_ = os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)
		if _, err := s.Plan(nil, []Create{{File: name}}); err == nil {
			t.Errorf("%s would be created", name)
		}
	}
}

// TestWhoseJournal checks journals in folders that were moved, copied or cloned.
func TestWhoseJournal(t *testing.T) {
	here := Options{Folder: quickly, Machine: "this machine", Host: "here"}
	for name, c := range map[string]struct {
		take func(t *testing.T, root string) string // returns the folder's new path
		with Options
		own  bool
	}{
		"the same folder":      {func(_ *testing.T, root string) string { return root }, here, true},
		"by another name":      {func(_ *testing.T, root string) string { return filepath.Join(root, "conf", "..") }, here, true},
		"through a link":       {linkTo, here, true},
		"moved":                {move, here, true},
		"copied":               {copyTo, here, false},
		"cloned":               {clone, here, false},
		"on another machine":   {func(_ *testing.T, root string) string { return root }, Options{Folder: quickly, Machine: "another", Host: "there"}, false},
		"renamed to another's": {swap, here, false},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := neighbor(t)
			if err := apply(open(t, root, here), edits, creates); err != nil {
				t.Fatal(err)
			}
			at := c.take(t, root)
			s := open(t, at, c.with)
			before := tree(t, at)
			_, err := s.Revert(1, false)
			foreign, also := s.Foreign()
			if also != nil {
				t.Fatal(also)
			}
			if c.own {
				if err != nil || foreign != "" {
					t.Fatalf("the folder's own journal: %v, %q", err, foreign)
				}
				same(t, project, withoutGit(tree(t, at)))
				return
			}
			if !errors.Is(err, errNoChange) || !strings.Contains(err.Error(), "does not belong to this folder (it was written in "+root+" on here)") {
				t.Errorf("error is %v", err)
			}
			same(t, before, tree(t, at))
			// A foreign journal does not prevent changes either.
			if err := apply(s, []Edit{{File: "ds.json", Path: edits[3].Path, Value: 7}}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Revert(1, false); err != nil {
				t.Fatal(err)
			}
			same(t, before, tree(t, at))
			if _, err := os.Stat(filepath.Join(at, ".snug/journal/000001.done")); err != nil {
				t.Error("the other folder's journal is gone")
			}
		})
	}
}

func withoutGit(files map[string]string) map[string]string {
	for name := range files {
		if strings.HasPrefix(name, ".git/") {
			delete(files, name)
		}
	}
	return files
}

func linkTo(t *testing.T, root string) string {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	return link + "/."
}

func move(t *testing.T, root string) string {
	to := root + "-moved"
	if err := os.Rename(root, to); err != nil {
		t.Fatal(err)
	}
	return to
}

func copyTo(t *testing.T, root string) string {
	to := root + "-copy"
	if err := os.CopyFS(to, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	return to
}

// swap copies the journal into another project.
func swap(t *testing.T, root string) string {
	other := filepath.Join(filepath.Dir(root), "other")
	write(t, other, changed())
	if err := os.CopyFS(filepath.Join(other, ".snug"), os.DirFS(filepath.Join(root, ".snug"))); err != nil {
		t.Fatal(err)
	}
	return other
}

// clone returns a copy of a folder whose journal was committed by force.
func clone(t *testing.T, root string) string {
	to := root + "-clone"
	for _, args := range [][]string{
		{"init", "-q", "."},
		{"add", "-f", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "all"},
		{"clone", "-q", ".", to},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %s: %v\n%s", args[0], err, out)
		}
	}
	return to
}

// TestNothingStays checks that snug leaves no files after everything is reverted, and keeps other files in
// .snug.
func TestNothingStays(t *testing.T) {
	root, _ := neighbor(t)
	s := open(t, root, Options{Folder: quickly})
	for range 2 {
		if err := apply(s, edits, creates); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Revert(1, false); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(root, ".snug")); err == nil {
			t.Error(".snug stayed behind")
		}
	}
	write(t, root, map[string]string{".snug/notes": "mine"})
	if err := apply(s, edits, creates); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(root, ".snug/notes"), "mine")
}

// FuzzJournal replaces an entry with arbitrary bytes, both as they are and sealed as if snug had written
// them. Nothing outside the folder may change, and the journal's own limits must bound time and memory.
func FuzzJournal(f *testing.F) {
	for _, state := range []string{begun, done} {
		f.Add([]byte(forged(state, "../secret.txt")[entryName(1, state)]), state == begun)
	}
	f.Add([]byte(`{"version": 2, "id": 1, "files": [{"path": "ds.json", "mode": "0644", "before": "YQ==", "after": "00"}]}`), true)
	f.Add([]byte(`{"version": 2, "ids": [1, 1, 1]}`), false)
	f.Fuzz(func(t *testing.T, data []byte, isBegun bool) {
		root, secret := neighbor(t)
		state := done
		if isBegun {
			state = begun
		}
		s := open(t, root, Options{Folder: quickly})
		write(t, root, map[string]string{entryName(1, state): string(data), revertName: string(data)})
		everything(t, root, Options{})
		var e Entry
		if json.Unmarshal(data, &e) == nil {
			e.Version, e.ID = journalVersion, 1
			if s.seal(&e) == nil {
				text, _ := json.Marshal(e)
				write(t, root, map[string]string{entryName(1, state): string(text)})
				everything(t, root, Options{})
			}
		}
		wantFile(t, secret, "mine")
		names, err := os.ReadDir(filepath.Dir(root))
		if err != nil || len(names) != 2 {
			t.Errorf("next to the project there are now %v (%v)", names, err)
		}
	})
}
