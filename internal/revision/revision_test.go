// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository creates a repository whose first commit, tagged base, has the files. The working tree then has only what
// the test writes.
func repository(t *testing.T, files map[string]string, links map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "base"}, {"tag", "base"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// written returns the contents of the files below a folder, and links with an arrow.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			out[name] = "-> " + to
			return err
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExtract(t *testing.T) {
	files := map[string]string{
		"train.yaml": "batch: 4\n", "conf/a b.yaml": "x: 1", "conf/ü\n.yaml": "", "empty": "",
		".gitattributes": "*.yaml export-ignore filter=broken\n", // Extract ignores both attributes
	}
	dir := repository(t, files, map[string]string{"conf/link.yaml": "../train.yaml", "out": "../elsewhere", "abs": "/etc/passwd"})
	if err := os.WriteFile(filepath.Join(dir, "train.yaml"), []byte("batch: 8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	tree, err := Extract(t.Context(), filepath.Join(dir, "conf"), "base", into)
	if err != nil {
		t.Fatal(err)
	}
	files["conf/link.yaml"] = "-> ../train.yaml"
	if diff := cmp.Diff(files, written(t, into)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"abs", "out"}, tree.Left); diff != "" {
		t.Errorf("omitted (-want +got):\n%s", diff)
	}
	if tree.Folder != filepath.Join(into, "conf") || len(tree.Commit) != 40 {
		t.Errorf("folder %s, commit %s", tree.Folder, tree.Commit)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "train.yaml")); string(data) != "batch: 8\n" {
		t.Errorf("the working tree changed: %q, %v", data, err)
	}
}

func TestExtractErrors(t *testing.T) {
	dir := repository(t, map[string]string{"a": "1"}, nil)
	for _, c := range []struct{ folder, revision, want string }{
		{dir, "nothing", `"nothing" is not a revision`},
		{dir, "--output=x", `"--output=x" is not a revision`},
		{dir, "HEAD:a", `"HEAD:a" is not a revision`},
		{dir, "", `"" is not a revision`},
		{t.TempDir(), "HEAD", "is not in a git repository: git: not a git repository"},
	} {
		_, err := Extract(t.Context(), c.folder, c.revision, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.folder, c.revision, err, c.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Extract(t.Context(), dir, "HEAD", t.TempDir()); !errors.Is(err, ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
}
