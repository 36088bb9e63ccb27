// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dead is the number of a process that is gone.
func dead(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestRemoveLeft(t *testing.T) {
	parent, pid := t.TempDir(), dead(t)
	mine, err := NewWork(parent)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, withLock bool) string {
		path := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Join(path, "snug-run-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if withLock {
			if err := os.WriteFile(filepath.Join(path, lockName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Base(path)
	}
	put(fmt.Sprintf("snug-profile-%d-1", pid), true)
	keep := []string{
		filepath.Base(mine.Path),
		put(fmt.Sprintf("snug-profile-%d-2", os.Getpid()), true), // its process lives
		put(fmt.Sprintf("snug-profile-%d-3", pid), false),        // no lock: nobody's
		put(fmt.Sprintf("snug-profile-%d-x", pid), true),
		put("snug-profile-123", true),
		put(fmt.Sprintf("other-%d-1", pid), true),
	}
	locked := put(fmt.Sprintf("snug-profile-%d-4", pid), true) // of a process that is not seen from here
	holder, err := os.Open(filepath.Join(parent, locked, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := tryLock(holder); err != nil {
		t.Skip("no locks here: ", err)
	}
	link := fmt.Sprintf("snug-profile-%d-5", pid)
	if err := os.Symlink(filepath.Join(parent, "other-"+fmt.Sprint(pid)+"-1"), filepath.Join(parent, link)); err != nil {
		t.Fatal(err)
	}
	if n := RemoveLeft(parent); n != 1 {
		t.Errorf("%d folders removed, want 1", n)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	want := map[string]bool{locked: true, link: true}
	for _, name := range keep {
		want[name] = true
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
	if err := mine.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine.Path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", mine.Path, err)
	}
}

// A training that outlives its snug still has its folder.
func TestRemoveLeftSparesRuns(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc: other processes' runs are not known here")
	}
	parent := t.TempDir()
	path := filepath.Join(parent, fmt.Sprintf("snug-profile-%d-1", dead(t)))
	run := filepath.Join(path, "snug-run-1")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	training := exec.Command("sleep", "60")
	training.Env = append(os.Environ(), markName+"="+run)
	if err := training.Start(); err != nil {
		t.Fatal(err)
	}
	if n := RemoveLeft(parent); n != 0 {
		t.Error("the folder of a run that goes on is gone")
	}
	_ = training.Process.Kill()
	_ = training.Wait()
	if n := RemoveLeft(parent); n != 1 {
		t.Error("the folder of a run that is over is still there")
	}
}
