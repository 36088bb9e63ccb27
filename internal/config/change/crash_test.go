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

	"snug/internal/crash"
)

// faulty is a folder that stops at a given step. Every call that writes is a step.
type faulty struct {
	quick
	step int      // calls so far
	at   int      // the number of the step to stop at, from 1
	when string   // or its name
	fail error    // the error that this step returns
	then func()   // called at this step
	dead bool     // later steps fail too, as if the process had died
	done []string // names of the steps, for messages
}

// on opens a folder that stops.
func (f *faulty) on(root string) (Folder, error) {
	d, err := OpenDisk(root)
	f.quick = quick{d}
	return f, err
}

// now counts a step and returns an error if the folder stops there.
func (f *faulty) now(name string) error {
	f.step++
	f.done = append(f.done, name)
	if f.at == 0 && name == f.when {
		f.at = f.step
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

func (f *faulty) Mkdir(name string) error {
	if err := f.now("mkdir " + name); err != nil {
		return err
	}
	return f.quick.Mkdir(name)
}

func (f *faulty) Create(name string) (Output, error) {
	if err := f.now("create " + name); err != nil {
		return nil, err
	}
	out, err := f.quick.Create(name)
	if err != nil {
		return nil, err
	}
	return &faultyOutput{out, f}, nil
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

func (f *faulty) Lock(name, holder string) (func(), error) {
	if err := f.now("lock"); err != nil {
		return nil, err
	}
	release, err := f.quick.Lock(name, holder)
	return func() { _ = f.now("release"); release() }, err
}

// faultyOutput writes only half of the data at the step where it stops.
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

func (o *faultyOutput) Like(name string) error {
	if err := o.f.now("like " + name); err != nil {
		return err
	}
	return o.Output.Like(name)
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

// withoutBackups returns the files that a training run reads.
func withoutBackups(files map[string]string) map[string]string {
	files = maps.Clone(files)
	for name := range files {
		if strings.Contains(name, ".backup") || strings.HasSuffix(name, ".snug-tmp") {
			delete(files, name)
		}
	}
	return files
}

// leftovers are files that should not exist.
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

// The ways to stop a run at a step: the process is killed, or one call fails and it continues.
var stopped = []struct {
	name string
	fail error
	dead bool
}{
	{"crash", errCrash, true},
	{"full", syscall.ENOSPC, false},
	{"broken", syscall.EIO, false},
}

// prepared returns a folder to run an operation in.
func prepared(t *testing.T, prepare func(t *testing.T, root string)) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, project)
	prepare(t, root)
	return root
}

// stepsOf returns how many steps an operation takes if nothing stops it.
func stepsOf(t *testing.T, prepare func(t *testing.T, root string), run func(s *Store) error) int {
	t.Helper()
	f := &faulty{}
	if err := run(open(t, prepared(t, prepare), Options{Folder: f.on, Now: clock})); err != nil {
		t.Fatal(err)
	}
	if f.step < 20 {
		t.Errorf("there were only %d steps", f.step)
	}
	return f.step
}

// stops runs an operation on a folder that stops at each of its steps in turn,
// each time in a fresh folder.
func stops(t *testing.T, prepare func(t *testing.T, root string), run func(s *Store) error, fail error, dead bool, check func(t *testing.T, root string, err error)) {
	t.Helper()
	for _, at := range crash.Points(t, stepsOf(t, prepare, run)) {
		root := prepared(t, prepare)
		f := &faulty{at: at, fail: fail, dead: dead}
		err := run(open(t, root, Options{Folder: f.on, Now: clock}))
		if f.step < at {
			t.Fatalf("step %d was not reached: %v", at, err)
		}
		t.Run(fmt.Sprintf("step %d %s", at, f.done[at-1]), func(t *testing.T) { check(t, root, err) })
	}
}

func TestStoppedWhileApplying(t *testing.T) {
	run := func(s *Store) error { return apply(s, edits, creates) }
	for _, how := range stopped {
		t.Run(how.name, func(t *testing.T) {
			stops(t, func(*testing.T, string) {}, run, how.fail, how.dead, func(t *testing.T, root string, err error) {
				if how.dead {
					checkCrashed(t, root)
					return
				}
				checkFailed(t, root, err, how.fail)
			})
		})
	}
}

// checkCrashed checks that after the process died while applying, the folder is consistent, and that changes
// can be applied and reverted.
func checkCrashed(t *testing.T, root string) {
	t.Helper()
	// The journal shows whether the change was made, and the files agree.
	s := open(t, root, Options{Folder: quickly, Now: clock})
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
		same(t, withoutBackups(changed()), withoutBackups(tree(t, root)))
	case !stopped:
		same(t, project, withoutBackups(tree(t, root)))
	}
	// Applying or reverting again succeeds, in this folder and after moving it.
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(root, moved); err != nil {
		t.Fatal(err)
	}
	s = open(t, moved, Options{Folder: quickly, Now: clock})
	if len(made) == 1 || stopped {
		if _, err := s.Revert(1, false); err != nil {
			t.Fatal(err)
		}
	}
	same(t, project, tree(t, moved))
	if err := apply(s, edits, creates); err != nil {
		t.Fatal(err)
	}
	same(t, changed(), tree(t, moved))
	if l := leftovers(t, moved); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

// checkFailed checks that a failed call returns a one-line error, and leaves the old files and nothing else.
func checkFailed(t *testing.T, root string, err, fail error) {
	t.Helper()
	got := tree(t, root)
	if err == nil {
		same(t, changed(), got) // nothing depended on that step
		return
	}
	if !errors.Is(err, fail) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
	}
	same(t, project, got)
	s := open(t, root, Options{Folder: quickly})
	if stopped, _ := s.Interrupted(); stopped {
		t.Error("the journal still has it")
	}
	if err := apply(s, edits, creates); err != nil {
		t.Errorf("a second try: %v", err)
	}
}

// twoChanges is a folder with two changes to revert.
func twoChanges(t *testing.T, root string) {
	t.Helper()
	s := open(t, root, Options{Folder: quickly, Now: clock})
	for _, part := range [][]Edit{edits[:2], edits[2:]} {
		if err := apply(s, part, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoppedWhileReverting(t *testing.T) {
	run := func(s *Store) error { _, err := s.Revert(2, false); return err }
	after := withoutBackups(changed())
	delete(after, "conf/copy.json")
	for _, how := range stopped {
		t.Run(how.name, func(t *testing.T) {
			stops(t, twoChanges, run, how.fail, how.dead, func(t *testing.T, root string, _ error) {
				s := open(t, root, Options{Folder: quickly, Now: clock})
				stopped, err := s.Interrupted()
				if err != nil {
					t.Fatal(err)
				}
				files := withoutBackups(tree(t, root))
				if !stopped && !reflect.DeepEqual(files, after) && !reflect.DeepEqual(files, withoutBackups(project)) {
					t.Errorf("neither old nor new: %v", files)
				}
				left, err := s.List()
				if err != nil {
					t.Fatal(err)
				}
				if stopped || len(left) > 0 {
					if _, err := s.Revert(max(len(left), 1), false); err != nil {
						t.Fatal(err)
					}
				}
				same(t, project, tree(t, root))
				if left, _ := s.List(); len(left) > 0 {
					t.Errorf("%d changes are left", len(left))
				}
			})
		})
	}
}

// TestStoppedWhileRecovering stops the recovery from an earlier stop: in the middle of a change's renames, or
// during a revert.
func TestStoppedWhileRecovering(t *testing.T) {
	run := func(s *Store) error { _, err := s.Recover(false); return err }
	for _, first := range []struct {
		name    string
		prepare func(t *testing.T, root string)
		run     func(s *Store) error
		at      string
	}{
		{"applying", func(*testing.T, string) {}, func(s *Store) error { return apply(s, edits, creates) }, "rename to ds.json"},
		{"reverting", twoChanges, func(s *Store) error { _, err := s.Revert(2, false); return err }, "rename to conf/config.yaml"},
	} {
		prepare := func(t *testing.T, root string) {
			first.prepare(t, root)
			stopAt(t, root, first.run, first.at)
		}
		for _, how := range stopped {
			t.Run(first.name+" "+how.name, func(t *testing.T) {
				stops(t, prepare, run, how.fail, how.dead, func(t *testing.T, root string, _ error) {
					s := open(t, root, Options{Folder: quickly, Now: clock})
					if _, err := s.Recover(false); err != nil {
						t.Fatal(err)
					}
					same(t, project, tree(t, root))
					if l := leftovers(t, root); len(l) > 0 {
						t.Errorf("left over: %v", l)
					}
				})
			})
		}
	}
}

// stopAt runs an operation that dies at the step with the given name.
func stopAt(t *testing.T, root string, run func(s *Store) error, name string) {
	t.Helper()
	f := &faulty{when: name, fail: errCrash, dead: true}
	if err := run(open(t, root, Options{Folder: f.on, Now: clock})); err == nil || f.at == 0 {
		t.Fatalf("there is no step %q among %q", name, f.done)
	}
}

// killed are the operations during which a real process is killed, step by step, and the allowed states of
// the folder afterwards.
var killed = map[string]struct {
	prepare func(t *testing.T, root string)
	run     func(s *Store) error
}{
	"apply":  {func(*testing.T, string) {}, func(s *Store) error { return apply(s, edits, creates) }},
	"revert": {twoChanges, func(s *Store) error { _, err := s.Revert(2, false); return err }},
}

// TestKilled kills a real process at each step. It uses the system's locks, and the process cannot clean up.
func TestKilled(t *testing.T) {
	if step := os.Getenv("SNUG_KILL_AT"); step != "" {
		at, _ := strconv.Atoi(step)
		self, _ := os.FindProcess(os.Getpid())
		f := &faulty{at: at, fail: errCrash, then: func() { _ = self.Kill(); select {} }}
		if err := killed[os.Getenv("SNUG_KILL_IN")].run(open(t, os.Getenv("SNUG_KILL_ROOT"), Options{Folder: f.on})); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, op := range killed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range crash.Points(t, stepsOf(t, op.prepare, op.run)) {
				root := prepared(t, op.prepare)
				cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
				cmd.Env = append(os.Environ(), "SNUG_KILL_AT="+strconv.Itoa(at), "SNUG_KILL_IN="+name, "SNUG_KILL_ROOT="+root)
				out, err := cmd.CombinedOutput()
				if err == nil || strings.Contains(string(out), "FAIL") {
					t.Fatalf("it was not killed at step %d: %s", at, out)
				}
				afterKill(t, root)
			}
		})
	}
}

// afterKill checks that everything can be reverted and applied again after a kill.
func afterKill(t *testing.T, root string) {
	t.Helper()
	s := open(t, root, Options{Folder: quickly})
	if stopped, err := s.Interrupted(); err != nil {
		t.Fatal(err)
	} else if stopped {
		if _, err := s.Recover(false); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := s.List(); err != nil {
		t.Fatal(err)
	} else if len(made) > 0 {
		if _, err := s.Revert(len(made), false); err != nil {
			t.Fatal(err)
		}
	}
	same(t, project, tree(t, root))
	if err := apply(s, edits, creates); err != nil {
		t.Fatal(err)
	}
	same(t, changed(), tree(t, root))
}
