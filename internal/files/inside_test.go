// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInside(t *testing.T) {
	top := t.TempDir()
	folder := filepath.Join(top, "project")
	if err := os.MkdirAll(filepath.Join(folder, "conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"out.yaml": filepath.Join("..", "x.yaml"), "out": "..", "in.yaml": filepath.Join(folder, "conf", "x.yaml"), "in": "conf",
	} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	for _, name := range []string{filepath.Join(top, "x.yaml"), filepath.Join(folder, "conf", "x.yaml")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(folder, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"conf/x.yaml": true, "conf/missing.yaml": true, "in.yaml": true, "in/x.yaml": true, "in/../conf/x.yaml": true,
		"../x.yaml": false, "out.yaml": false, "out/x.yaml": false, "out/missing.yaml": false, "../missing.yaml": false,
		"../project/conf/x.yaml": true, filepath.Join(folder, "conf", "x.yaml"): true, filepath.Join(top, "x.yaml"): false,
	} {
		for _, through := range []string{folder, filepath.Join(top, "link")} {
			if got := Inside(through, filepath.FromSlash(name)); got != want {
				t.Errorf("%s in %s: got %v, want %v", name, through, got, want)
			}
		}
	}
}
