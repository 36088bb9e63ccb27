// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/config/doc"
)

// project is a folder with a config and two stages, as in the guides.
var project = map[string]string{
	"conf/config.yaml":   "data_loader:\n  batch_size: 45  # per GPU\ntraining:\n  trainer:\n    accumulate_grad_batches: 5\n",
	"conf/01_stage.yaml": "n_negatives: 24\r\n",
	"ds.json":            "{\n  // micro\n  \"train_micro_batch_size_per_gpu\": 45\n}",
}

var edits = []Edit{
	{File: "conf/config.yaml", Path: doc.Path{"data_loader", "batch_size"}, Value: 64},
	{File: "conf/config.yaml", Path: doc.Path{"training", "trainer", "accumulate_grad_batches"}, Value: 4},
	{File: "conf/01_stage.yaml", Path: doc.Path{"n_negatives"}, Value: 16},
	{File: "ds.json", Path: doc.Path{"train_micro_batch_size_per_gpu"}, Value: 64},
}

var creates = []Create{{File: "conf/copy.json", Content: []byte("{}\n")}}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns every file in a folder, except .snug.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".snug" {
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// quick is a disk that does not wait for the hardware.
type quick struct{ *Disk }

func quickly(root string) (Folder, error) {
	d, err := OpenDisk(root)
	return quick{d}, err
}

func (quick) SyncDir(string) error { return nil }

func (q quick) Create(name string) (Output, error) {
	out, err := q.Disk.Create(name)
	if err != nil {
		return nil, err
	}
	return quickOutput{out}, nil
}

type quickOutput struct{ Output }

func (quickOutput) Sync() error { return nil }

func open(t *testing.T, root string, o Options) *Store {
	t.Helper()
	s, err := Open(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func clock() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// apply plans and applies a change.
func apply(s *Store, edits []Edit, creates []Create) error {
	c, err := s.Plan(edits, creates)
	if err != nil {
		return err
	}
	_, err = s.Apply(c, "test")
	return err
}

// changed returns the project after the edits.
func changed() map[string]string {
	after := map[string]string{
		"conf/config.yaml":   "data_loader:\n  batch_size: 64  # per GPU\ntraining:\n  trainer:\n    accumulate_grad_batches: 4\n",
		"conf/01_stage.yaml": "n_negatives: 16\r\n",
		"ds.json":            "{\n  // micro\n  \"train_micro_batch_size_per_gpu\": 64\n}",
		"conf/copy.json":     "{}\n",
	}
	for name, text := range project {
		after[name+".backup"] = text
	}
	return after
}

func TestApplyAndRevert(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	s := open(t, root, Options{Now: clock})
	c, err := s.Plan(edits, creates)
	if err != nil {
		t.Fatal(err)
	}
	same(t, project, tree(t, root)) // planning writes nothing
	want := `--- a/conf/config.yaml
+++ b/conf/config.yaml
@@ -1,5 +1,5 @@
 data_loader:
-  batch_size: 45  # per GPU
+  batch_size: 64  # per GPU
 training:
   trainer:
-    accumulate_grad_batches: 5
+    accumulate_grad_batches: 4
`
	if got := string(c.Diff()); !strings.HasPrefix(got, want) {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
	if _, err := s.Apply(c, "batch=64"); err != nil {
		t.Fatal(err)
	}
	same(t, changed(), tree(t, root))
	if info, err := os.Stat(filepath.Join(root, "ds.json")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions became %v (%v)", info.Mode(), err)
	}
	if _, err := s.Apply(c, "again"); err == nil {
		t.Error("a change that was planned on other files was applied")
	}
	back, err := s.Revert(1, false)
	if err != nil || len(back.Entries) != 1 || back.Interrupted {
		t.Fatal(back, err)
	}
	same(t, project, tree(t, root))
	if _, err := s.Revert(1, false); err == nil || !strings.Contains(err.Error(), "no change to undo") {
		t.Errorf("error is %v", err)
	}
}

func TestSeveralBack(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	s := open(t, root, Options{Folder: quickly, Now: clock})
	states := []map[string]string{tree(t, root)}
	for n := range 4 {
		if err := apply(s, []Edit{{File: "ds.json", Path: edits[3].Path, Value: 100 + n}, {File: "conf/01_stage.yaml", Path: doc.Path{"n_negatives"}, Value: n}}[n%2:], nil); err != nil {
			t.Fatal(err)
		}
		states = append(states, tree(t, root))
	}
	if list, err := s.List(); err != nil || len(list) != 4 || list[0].ID != 4 {
		t.Fatal(list, err)
	}
	if _, err := s.Revert(5, false); err == nil {
		t.Error("five of four changes were reverted")
	}
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	same(t, states[3], tree(t, root))
	if _, err := s.Revert(3, false); err != nil {
		t.Fatal(err)
	}
	same(t, states[0], tree(t, root))
}

func TestEditedByHand(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	s := open(t, root, Options{Folder: quickly})
	if err := apply(s, edits, nil); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"ds.json": "{\"mine\": 1}"})
	before := tree(t, root)
	if _, err := s.Revert(1, false); !errors.Is(err, ErrEdited) || !strings.HasPrefix(err.Error(), "ds.json: ") {
		t.Errorf("error is %v", err)
	}
	same(t, before, tree(t, root))
	if _, err := s.Revert(1, true); err != nil {
		t.Fatal(err)
	}
	same(t, project, tree(t, root))
}

// TestRemovedByHand checks that a missing file is reported as such, and that a file restored by hand is
// accepted.
func TestRemovedByHand(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	s := open(t, root, Options{Folder: quickly})
	if err := apply(s, edits, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "ds.json")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Revert(1, false)
	if want := "ds.json: removed since snug changed it; --force restores the old file"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	write(t, root, map[string]string{"ds.json": project["ds.json"]})
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	same(t, project, tree(t, root))
}

func TestForeignBackupStays(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	write(t, root, map[string]string{"ds.json.backup": "my own"})
	before := tree(t, root)
	s := open(t, root, Options{Folder: quickly})
	if err := apply(s, edits[3:], nil); err != nil {
		t.Fatal(err)
	}
	got := tree(t, root)
	if got["ds.json.backup"] != "my own" || got["ds.json.backup.2"] != project["ds.json"] {
		t.Error(got)
	}
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	same(t, before, tree(t, root))
}

func TestLinksStayLinks(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	if err := os.Symlink("conf/config.yaml", filepath.Join(root, "main.yaml")); err != nil {
		t.Skip(err)
	}
	s := open(t, root, Options{Folder: quickly})
	two := []Edit{edits[0], edits[1]}
	two[0].File = "main.yaml" // the same file by two names
	c, err := s.Plan(two, nil)
	if err != nil || len(c.Files) != 1 || len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "main.yaml is a link") {
		t.Fatal(c, err)
	}
	if _, err := s.Apply(c, ""); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(root, "main.yaml")); err != nil || to != "conf/config.yaml" {
		t.Errorf("the link is %s (%v)", to, err)
	}
	if got := tree(t, root)["conf/config.yaml"]; got != changed()["conf/config.yaml"] {
		t.Error(got)
	}
	if _, err := s.Revert(1, false); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root)["conf/config.yaml"]; got != project["conf/config.yaml"] {
		t.Error(got)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(root string) error
		edits   []Edit
		creates []Create
		want    string
	}{
		{"read-only file", func(root string) error { return os.Chmod(filepath.Join(root, "ds.json"), 0o440) }, edits, nil, "ds.json: the file is read-only"},
		{"read-only folder", func(root string) error { return os.Chmod(filepath.Join(root, "conf"), 0o555) }, edits, nil, "conf/config.yaml: its folder is read-only"},
		{"vanished", func(root string) error { return os.Remove(filepath.Join(root, "ds.json")) }, edits, nil, "ds.json: the file does not exist"},
		{"link in a circle", func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "ds.json")), os.Symlink("ds.json", filepath.Join(root, "ds.json")))
		}, edits, nil, "ds.json: "},
		{"link to nothing", func(root string) error {
			return errors.Join(os.Remove(filepath.Join(root, "ds.json")), os.Symlink("gone.json", filepath.Join(root, "ds.json")))
		}, edits, nil, "ds.json: the file does not exist"},
		{"folder", func(root string) error { return os.Mkdir(filepath.Join(root, "x.yaml"), 0o755) }, []Edit{{File: "x.yaml"}}, nil, "x.yaml: it is a folder"},
		{"malformed", func(root string) error {
			return os.WriteFile(filepath.Join(root, "ds.json"), []byte("{\n  a: 1}"), 0o644)
		}, edits, nil, "ds.json:2:3: "},
		{"file to create is there", func(string) error { return nil }, nil, []Create{{File: "ds.json"}}, "ds.json: the file already exists"},
		{"folder to create in is missing", func(string) error { return nil }, nil, []Create{{File: "gone/ds.json"}}, "gone: the file does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, project)
			if err := c.prepare(root); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "conf"), 0o755) })
			err := apply(open(t, root, Options{Folder: quickly}), c.edits, c.creates)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(root, ".snug")); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestLock(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	first := open(t, root, Options{Folder: quickly, Host: "node7", Now: clock})
	release, err := first.lock()
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, root, Options{Folder: quickly})
	want := fmt.Sprintf("another snug is running here (process %d on node7 since 2026-08-01T12:00:00Z); wait for it", os.Getpid())
	if err := apply(second, edits, nil); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	same(t, project, tree(t, root))
	release()
	if err := apply(second, edits[:1], nil); err != nil {
		t.Error(err)
	}
	if l := leftovers(t, root); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

// TestManyAtOnce changes and reverts one folder from many stores at once. Each call must succeed or report
// that another is running, and in the end everything can be reverted.
func TestManyAtOnce(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			s, err := Open(root, Options{Folder: quickly})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 100 {
				_ = apply(s, []Edit{{File: "ds.json", Path: edits[3].Path, Value: 100*worker + n}}, nil)
				if n%2 == 1 {
					_, _ = s.Revert(1, false)
				}
			}
		})
	}
	wg.Wait()
	s := open(t, root, Options{Folder: quickly})
	made, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(made) > 0 {
		if _, err := s.Revert(len(made), false); err != nil {
			t.Fatal(err)
		}
	}
	same(t, project, tree(t, root))
}

func TestDamagedJournal(t *testing.T) {
	root := t.TempDir()
	write(t, root, project)
	s := open(t, root, Options{Folder: quickly})
	if err := apply(s, edits, nil); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, ".snug", "journal", "000001.done")
	for text, want := range map[string]string{
		"":               "is damaged",
		"{":              "is damaged",
		`{"version": 1}`: "does not belong to this folder",
		`{"version": 2, "files": [{"path": "x"}]}`: "does not belong to this folder",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Revert(1, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v", text, err)
		}
	}
}
