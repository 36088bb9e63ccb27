// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain also serves as the program that the tests run.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CRASH_TEST_DIR"); dir != "" {
		os.Exit(program(dir))
	}
	os.Exit(m.Run())
}

// program creates a folder and a file in it.
func program(dir string) int {
	dir = filepath.Join(dir, "made")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 3
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("0123456789"), 0o600); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return 4
		}
		return 5
	}
	return 0
}

func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		fault  Fault
		want   Result
		folder bool
		file   string
	}{
		{Fault{}, Result{3, "", 0}, true, "0123456789"},
		{Fault{Kill, 1, 0}, Result{1, "mkdir", -1}, false, ""},
		{Fault{Kill, 2, 0}, Result{2, "create", -1}, true, ""},
		{Fault{Kill, 3, 0}, Result{3, "write", -1}, true, ""},
		{Fault{Kill, 4, 0}, Result{3, "", 0}, true, "0123456789"},
		{Fault{Tear, 3, 0}, Result{3, "write", -1}, true, "01234"},
		{Fault{Tear, 1, 0}, Result{1, "mkdir", -1}, true, ""},
		{Fault{Fail, 1, syscall.EACCES}, Result{1, "mkdir", 3}, false, ""},
		{Fault{Fail, 3, syscall.ENOSPC}, Result{3, "write", 4}, true, ""},
	} {
		dir := t.TempDir()
		got, err := Run(Program{
			Path: self, Args: []string{"program"}, Env: []string{"CRASH_TEST_DIR=" + dir}, Dir: dir, Output: filepath.Join(dir, "out"),
		}, x.fault)
		if errors.Is(err, ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil || got != x.want {
			t.Errorf("%+v: %+v, %v, want %+v", x.fault, got, err, x.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); (err == nil) != x.folder {
			t.Errorf("%+v: %v", x.fault, err)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "made/file")); strings.TrimSpace(string(text)) != x.file {
			t.Errorf("%+v: it holds %q", x.fault, text)
		}
	}
}
