// SPDX-License-Identifier: Apache-2.0

package change

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// faulty is a disk that stops at a step: every call that writes is one.
type faulty struct {
	quick
	step int       // calls so far
	at   int       // the step to stop at, from 1
	fail error     // what that step returns
	then func()    // what else happens there
	dead bool      // later steps fail as well: the process is gone
	last *[]string // names of the steps, for messages
}

// now counts a step and says what it does.
func (f *faulty) now(name string) error {
	f.step++
	if f.last != nil {
		*f.last = append(*f.last, name)
	}
	if f.step == f.at {
		if f.then != nil {
			f.then()
		}
		return f.fail
	}
	if f.dead && f.step > f.at && f.at > 0 {
		return f.fail
	}
	return nil
}

func (f *faulty) Mkdir(name string, mode fs.FileMode) error {
	if err := f.now("mkdir " + name); err != nil {
		return err
	}
	return f.quick.Mkdir(name, mode)
}

func (f *faulty) Create(name string, mode fs.FileMode) (Output, error) {
	if err := f.now("create " + name); err != nil {
		return nil, err
	}
	out, err := f.quick.Create(name, mode)
	if err != nil {
		return nil, err
	}
	return &faultyOutput{out, f}, nil
}

func (f *faulty) Own(name string, like fs.FileInfo) error {
	if err := f.now("own " + name); err != nil {
		return err
	}
	return f.quick.Own(name, like)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.now("rename to " + to); err != nil {
		return err
	}
	return f.quick.Rename(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.now("remove " + name); err != nil {
		return err
	}
	return f.quick.Remove(name)
}

func (f *faulty) SyncDir(name string) error {
	if err := f.now("sync " + name); err != nil {
		return err
	}
	return f.quick.SyncDir(name)
}

// faultyOutput writes half of what it is given at the step where it stops.
type faultyOutput struct {
	Output
	f *faulty
}

func (o *faultyOutput) Write(p []byte) (int, error) {
	if err := o.f.now("write"); err != nil {
		n, _ := o.Output.Write(p[:len(p)/2])
		return n, err
	}
	return o.Output.Write(p)
}

func (o *faultyOutput) Sync() error {
	if err := o.f.now("sync"); err != nil {
		return err
	}
	return o.Output.Sync()
}

func (o *faultyOutput) Chmod(mode fs.FileMode) error {
	if err := o.f.now("chmod"); err != nil {
		return err
	}
	return o.Output.Chmod(mode)
}

// gone is a process that is not there any more.
const gone = 1001

func alive(pid int) bool { return pid != gone }

// withoutBackups is what a person trains from.
func withoutBackups(files map[string]string) map[string]string {
	files = maps.Clone(files)
	for name := range files {
		if strings.Contains(name, ".backup") || strings.HasSuffix(name, ".snug-tmp") {
			delete(files, name)
		}
	}
	return files
}

// leftovers are files that nobody asked for.
func leftovers(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".snug-tmp") || strings.HasSuffix(path, begun) || filepath.Base(path) == "lock" || filepath.Base(path) == "revert") {
			names = append(names, path)
		}
		return nil
	})
	return names
}

var errCrash = errors.New("crashed")

// stops runs an operation with a disk that stops at each of its steps in turn,
// each time in a fresh folder.
func stops(t *testing.T, prepare func(t *testing.T, root string), run func(s *Store) error, fail error, dead bool, check func(t *testing.T, root string, err error)) {
	t.Helper()
	steps := 0
	for at := 1; ; at++ {
		root := t.TempDir()
		write(t, root, project)
		prepare(t, root)
		var names []string
		f := &faulty{at: at, fail: fail, dead: dead, last: &names}
		err := run(Open(root, Options{Files: f, Pid: gone, Alive: alive, Now: clock}))
		if f.step < at {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		steps = at
		t.Run(fmt.Sprintf("step %d %s", at, strings.ReplaceAll(names[at-1], root, "")), func(t *testing.T) { check(t, root, err) })
	}
	if steps < 20 {
		t.Errorf("there were only %d steps", steps)
	}
	t.Logf("%d steps", steps)
}

func TestCrashWhileApplying(t *testing.T) {
	run := func(s *Store) error { return apply(s, edits, creates) }
	after := withoutBackups(changed())
	stops(t, func(*testing.T, string) {}, run, errCrash, true, func(t *testing.T, root string, _ error) {
		// Whether it was made is what the journal says, and the files agree.
		s := Open(root, Options{Files: quick{}, Pid: 2002, Alive: alive, Now: clock})
		made, err := s.List()
		if err != nil {
			t.Fatal(err)
		}
		stopped, err := s.Interrupted()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(made) == 1:
			same(t, after, withoutBackups(tree(t, root)))
		case !stopped:
			same(t, project, withoutBackups(tree(t, root)))
		}
		// Coming again, with the change or to take it back, ends well.
		again := filepath.Join(t.TempDir(), "again")
		if err := os.CopyFS(again, os.DirFS(root)); err != nil {
			t.Fatal(err)
		}
		if len(made) == 1 || stopped {
			if _, err := s.Revert(1, false); err != nil {
				t.Fatal(err)
			}
		}
		same(t, project, tree(t, root))
		rerun(t, again, made)
	})
}

// rerun applies the change to a folder where it was interrupted.
func rerun(t *testing.T, root string, made []*Entry) {
	t.Helper()
	if len(made) == 1 {
		return
	}
	// The copy's journal speaks of the folder it was copied from.
	s := Open(root, Options{Files: quick{}, Pid: 2002, Alive: alive, Now: clock})
	retarget(t, root)
	if stopped, _ := s.Interrupted(); stopped {
		if _, err := s.Recover(false); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(s, edits, creates); err != nil {
		t.Fatal(err)
	}
	same(t, changed(), tree(t, root))
	if l := leftovers(t, root); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

// retarget makes a copied journal speak of the folder that it is in now.
func retarget(t *testing.T, root string) {
	t.Helper()
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := filepath.Glob(filepath.Join(root, ".snug", "journal", "*.begun"))
	for _, name := range entries {
		s := Open(root, Options{Files: quick{}})
		e, err := s.readEntry(name)
		if err != nil {
			continue
		}
		for i := range e.Files {
			e.Files[i].Target = filepath.Join(real, e.Files[i].Path)
		}
		if err := s.writeJSON(name, e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCrashWhileReverting(t *testing.T) {
	prepare := func(t *testing.T, root string) {
		s := Open(root, Options{Files: quick{}, Now: clock})
		for _, part := range [][]Edit{edits[:2], edits[2:]} {
			if err := apply(s, part, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(s *Store) error { _, err := s.Revert(2, false); return err }
	after := withoutBackups(changed())
	delete(after, "conf/copy.json")
	stops(t, prepare, run, errCrash, true, func(t *testing.T, root string, _ error) {
		s := Open(root, Options{Files: quick{}, Pid: 2002, Alive: alive, Now: clock})
		stopped, err := s.Interrupted()
		if err != nil {
			t.Fatal(err)
		}
		files := withoutBackups(tree(t, root))
		if !stopped && !reflect.DeepEqual(files, after) && !reflect.DeepEqual(files, withoutBackups(project)) {
			t.Errorf("neither old nor new: %v", files)
		}
		if stopped {
			if _, err := s.Revert(1, false); err != nil {
				t.Fatal(err)
			}
			same(t, project, tree(t, root))
		}
		if left, _ := s.List(); stopped && len(left) > 0 {
			t.Errorf("%d changes are left", len(left))
		}
	})
}

// A step that fails while the process lives: an error, the old files, and
// nothing left over.
func TestDiskFullWhileApplying(t *testing.T) {
	run := func(s *Store) error { return apply(s, edits, creates) }
	stops(t, func(*testing.T, string) {}, run, syscall.ENOSPC, false, func(t *testing.T, root string, err error) {
		got := tree(t, root)
		if err == nil {
			same(t, changed(), got) // a step that nothing hangs on
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error is %v", err)
		}
		same(t, project, got)
		s := Open(root, Options{Files: quick{}, Pid: 2002, Alive: alive})
		if stopped, _ := s.Interrupted(); stopped {
			t.Error("the journal still has it")
		}
		if err := apply(s, edits, creates); err != nil {
			t.Errorf("a second try: %v", err)
		}
	})
}

// TestKilled lets a real process be killed at each step.
func TestKilled(t *testing.T) {
	if step := os.Getenv("SNUG_KILL_AT"); step != "" {
		at, _ := strconv.Atoi(step)
		self, _ := os.FindProcess(os.Getpid())
		kill := func() {
			_ = self.Kill()
			select {}
		}
		if err := apply(Open(os.Getenv("SNUG_KILL_ROOT"), Options{Files: &faulty{at: at, fail: errCrash, then: kill}}), edits, creates); err != nil {
			t.Fatal(err)
		}
		return
	}
	after := withoutBackups(changed())
	for at := 1; at < 200; at += 7 {
		root := t.TempDir()
		write(t, root, project)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SNUG_KILL_AT="+strconv.Itoa(at), "SNUG_KILL_ROOT="+root)
		out, err := cmd.CombinedOutput()
		s := Open(root, Options{Files: quick{}})
		if err == nil { // it got through
			same(t, after, withoutBackups(tree(t, root)))
			return
		}
		if strings.Contains(string(out), "FAIL") {
			t.Fatalf("%s", out)
		}
		if stopped, err := s.Interrupted(); err != nil {
			t.Fatal(err)
		} else if stopped {
			if _, err := s.Revert(1, false); err != nil {
				t.Fatalf("step %d: %v", at, err)
			}
		}
		if made, _ := s.List(); len(made) == 1 {
			same(t, after, withoutBackups(tree(t, root)))
			continue
		}
		same(t, project, withoutBackups(tree(t, root)))
		if err := apply(s, edits, creates); err != nil {
			t.Fatalf("step %d, again: %v", at, err)
		}
		same(t, changed(), tree(t, root))
	}
	t.Error("the process was killed at every step")
}

// A full disk while taking back: it can be finished when there is space again.
func TestDiskFullWhileReverting(t *testing.T) {
	prepare := func(t *testing.T, root string) {
		if err := apply(Open(root, Options{Files: quick{}, Now: clock}), edits, creates); err != nil {
			t.Fatal(err)
		}
	}
	run := func(s *Store) error { _, err := s.Revert(1, false); return err }
	stops(t, prepare, run, syscall.ENOSPC, false, func(t *testing.T, root string, err error) {
		s := Open(root, Options{Files: quick{}, Pid: 2002, Alive: alive})
		if stopped, _ := s.Interrupted(); err != nil && !stopped {
			same(t, changed(), tree(t, root))
		}
		if made, _ := s.List(); err != nil && len(made) > 0 {
			if _, err := s.Revert(1, false); err != nil {
				t.Fatal(err)
			}
		}
		same(t, project, tree(t, root))
	})
}
