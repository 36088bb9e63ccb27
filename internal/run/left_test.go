// SPDX-License-Identifier: Apache-2.0

//go:build unix

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"snug/internal/filelock"
)

// dead returns the ID of a process that no longer exists.
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
		put(fmt.Sprintf("snug-profile-%d-2", os.Getpid()), true), // its process is alive
		put(fmt.Sprintf("snug-profile-%d-3", pid), false),        // has no lock file, and is too young to be abandoned
		put(fmt.Sprintf("snug-profile-%d-x", pid), true),
		put("snug-profile-123", true),
		put(fmt.Sprintf("other-%d-1", pid), true),
	}
	locked := put(fmt.Sprintf("snug-profile-%d-4", pid), true) // locked, although its process is not visible here
	holder, err := os.Open(filepath.Join(parent, locked, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := filelock.Try(holder); err != nil {
		t.Skip("no locks here: ", err)
	}
	if os.Getuid() == 0 { // a folder of another user
		theirs := put(fmt.Sprintf("snug-profile-%d-6", pid), true)
		if err := os.Chown(filepath.Join(parent, theirs), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		keep = append(keep, theirs)
	}
	link := fmt.Sprintf("snug-profile-%d-5", pid)
	if err := os.Symlink(filepath.Join(parent, "other-"+fmt.Sprint(pid)+"-1"), filepath.Join(parent, link)); err != nil {
		t.Fatal(err)
	}
	if left := RemoveLeftovers(parent); left != (Leftovers{Folders: 1}) {
		t.Errorf("%+v removed, want 1 folder", left)
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

// leftWork returns the folder of a killed snug, with a run and one of its processes.
func leftWork(t *testing.T, parent, settings string, command ...string) (work string, training *exec.Cmd) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc: other processes' runs are not known here")
	}
	work = filepath.Join(parent, fmt.Sprintf("snug-profile-%d-1", dead(t)))
	run := filepath.Join(work, "snug-run-1")
	for _, err := range []error{os.MkdirAll(run, 0o700), os.WriteFile(filepath.Join(work, lockName), []byte(lockedText), 0o600), os.WriteFile(filepath.Join(run, "probe.json"), []byte(settings), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	training = exec.Command(command[0], command[1:]...)
	training.Env = append(os.Environ(), markName+"="+run)
	out, err := training.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := training.StdinPipe(); err != nil { // the pipe stays open, so that the process waits for input
		t.Fatal(err)
	}
	if err := training.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = training.Process.Kill(); _ = training.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // the process is running
		t.Fatal(err)
	}
	return work, training
}

// Processes that a killed snug left running are ended, however they handle signals, and their folder is removed.
func TestRemoveLeftEndsRuns(t *testing.T) {
	parent := t.TempDir()
	work, training := leftWork(t, parent, "{}", "sh", "-c", `trap "" TERM; echo; while :; do sleep 1; done`)
	other := exec.Command("sleep", "60") // belongs to a snug that is alive
	alive, err := NewWork(parent)
	if err != nil {
		t.Fatal(err)
	}
	other.Env = append(os.Environ(), markName+"="+filepath.Join(alive.Path, "snug-run-1"))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	left := RemoveLeftovers(parent)
	if left.Folders != 1 || left.Processes == 0 || left.Spared != 0 {
		t.Errorf("%+v", left)
	}
	_ = training.Wait()
	if s, ok := training.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		t.Errorf("it %v", training.ProcessState)
	}
	if _, err := os.Stat(work); err == nil {
		t.Error("the folder is still there")
	}
	if gone(other.Process.Pid) {
		t.Error("the process of another snug was ended")
	}
	if _, err := os.Stat(alive.Path); err != nil {
		t.Error(err)
	}
}

// Another user's process is never touched, whatever its name.
func TestRemoveLeftOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run something as another user")
	}
	parent := t.TempDir()
	_, training := leftWork(t, parent, "{}", "sh", "-c", "echo; read line")
	theirs := exec.Command("/bin/sleep", "60")
	theirs.Env, theirs.SysProcAttr = training.Env, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
	if err := theirs.Start(); err != nil {
		t.Skip("nor can this one: ", err)
	}
	defer func() { _ = theirs.Process.Kill(); _ = theirs.Wait() }()
	if left := RemoveLeftovers(parent); left != (Leftovers{Folders: 1, Processes: 1}) {
		t.Errorf("%+v", left)
	}
	if s, ok := os.ReadFile(fmt.Sprintf("/proc/%d/stat", theirs.Process.Pid)); ok != nil || !strings.Contains(string(s), ") S ") {
		t.Errorf("it is gone: %s", s)
	}
}

// A training run that was meant to continue belongs to its user, and keeps its folder as long as it lasts.
func TestRemoveLeftSparesRuns(t *testing.T) {
	parent := t.TempDir()
	_, training := leftWork(t, parent, `{"keep_running":true}`, "sh", "-c", "echo; read line")
	if left := RemoveLeftovers(parent); left != (Leftovers{Spared: 1}) {
		t.Errorf("%+v: the run should have continued", left)
	}
	_ = training.Process.Kill()
	_ = training.Wait()
	if left := RemoveLeftovers(parent); left != (Leftovers{Folders: 1}) {
		t.Errorf("%+v: the run is over", left)
	}
}

// A folder is abandoned if its lock is free, even if its process ID is in use again. A folder that was being created
// or removed when its process was killed is abandoned too, once it is old enough.
func TestRemoveLeftByLock(t *testing.T) {
	parent := t.TempDir()
	folder := func(name, lock string) string {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if lock != "" {
			if err := os.WriteFile(filepath.Join(path, lockName), []byte(lock), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	reused := folder(fmt.Sprintf("snug-profile-%d-1", os.Getpid()), lockedText)
	empty := folder(fmt.Sprintf("snug-profile-%d-2", dead(t)), "")
	old := time.Now().Add(-2 * young)
	if err := os.Chtimes(empty, old, old); err != nil {
		t.Fatal(err)
	}
	made := folder(fmt.Sprintf("snug-profile-%d-3", dead(t)), "")
	if left := RemoveLeftovers(parent); left != (Leftovers{Folders: 2}) {
		t.Errorf("%+v", left)
	}
	for path, want := range map[string]bool{reused: false, empty: false, made: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Files that were being written next to the user's files are removed, but nothing else listed in the folder.
func TestRemoveLeftOutside(t *testing.T) {
	parent, user := t.TempDir(), t.TempDir()
	w, err := NewWork(parent)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.TempFile(user)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	keep := []string{filepath.Join(user, "train.py"), filepath.Join(user, ".snug-1-1-1")}
	for _, path := range keep {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		note, err := os.OpenFile(filepath.Join(w.Path, outsideName), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(note, "%q\n", path)
		_ = note.Close()
	}
	if RemoveLeftovers(parent).Folders != 0 {
		t.Fatal("its snug is alive")
	}
	if w, err := NewWork(parent); err != nil {
		t.Fatal(err)
	} else if _, err = w.TempFile(user); err != nil || w.Remove() != nil { // a snug that ends normally removes its temporary files too
		t.Fatal(err)
	}
	_ = w.lock.Close() // as if it were killed
	if RemoveLeftovers(parent).Folders != 1 {
		t.Error("the folder was not removed")
	}
	entries, err := os.ReadDir(user)
	if err != nil || len(entries) != len(keep) {
		t.Errorf("%v, %v", entries, err)
	}
}

// A user's file has either its old or its new content.
func TestPut(t *testing.T) {
	w, err := NewWork(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Remove() //nolint:errcheck // the test framework removes the folder anyway
	path := filepath.Join(t.TempDir(), "memory.snug")
	for _, x := range []struct {
		text string
		err  error
	}{{"old", nil}, {"half", errors.New("no")}, {"new", nil}} {
		err := w.Put(path, func(f io.Writer) error { _, _ = io.WriteString(f, x.text); return x.err })
		if !errors.Is(err, x.err) {
			t.Errorf("%s: %v", x.text, err)
		}
		want := x.text
		if x.err != nil {
			want = "old"
		}
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("it holds %q, want %q, %v", got, want, err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// BenchmarkMarked examines every process on the machine, which is done every second.
func BenchmarkMarked(b *testing.B) {
	for b.Loop() {
		marked("/tmp/none")
	}
}
