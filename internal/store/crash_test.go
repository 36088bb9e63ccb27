// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"snug/internal/crash"
)

// TestMain also serves as the program that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_PATH"); path != "" {
		if err := history(path); err != nil {
			fmt.Println("failed:", strings.ReplaceAll(err.Error(), "\n", "|"))
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// history runs a sequence of operations on a store, and prints a line after each.
func history(path string) error {
	steps := []func(*Store) error{
		func(s *Store) error { return s.Add(runsOf(10, 13)...) },
		func(s *Store) error { _, err := s.Import(runsOf(100, 140)); return err },
		func(s *Store) error {
			ids, err := s.IDs()
			if err == nil {
				_, err = s.Delete(ids[:2]...)
			}
			return err
		},
	}
	for _, step := range steps {
		s, err := Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(step(s), s.Close()); err != nil {
			return err
		}
		fmt.Println("done")
	}
	return nil
}

// runsOf returns runs of realistic length that differ in their reserved bytes.
func runsOf(from, to uint64) []Run {
	var out []Run
	for n := from; n < to; n++ {
		r := sample(n)
		r.Setup = `{"batch":2,"id":"` + strings.Repeat("x", 1500) + `"}`
		out = append(out, r)
	}
	return out
}

// after returns the reserved bytes of the runs in a store after the given number of steps. A store that existed
// before the first step contains 1 and 2.
func after(steps int, existed bool) []uint64 {
	var out []uint64
	for _, r := range slices.Concat(runsOf(1, 3), runsOf(10, 13), runsOf(100, 140))[:2+3*min(steps, 1)+40*min(max(steps-1, 0), 1)] {
		out = append(out, r.Reserved)
	}
	if !existed {
		out = out[2:]
	}
	if steps == 3 {
		out = out[2:]
	}
	return out
}

// TestCrash kills a process at each of its operations on a store, or makes the operation fail. Stored data must
// survive, the current operation must be either complete or undone, and the next process must be able to continue.
func TestCrash(t *testing.T) {
	if !crash.Supported() {
		t.Skip("programs cannot be traced here")
	}
	template := filepath.Join(t.TempDir(), "m.db")
	s := open(t, template)
	if err := s.Add(runsOf(1, 3)...); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	data, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	var points []func()
	for _, existed := range []bool{true, false} {
		x := crashing{t: t, data: data, existed: existed}
		calls := x.run(crash.Fault{}).Calls
		for at := 1; at <= calls+1; at++ {
			others := []crash.Fault{{Kind: crash.Tear, At: at}, {Kind: crash.Fail, At: at, Errno: syscall.ENOSPC}, {Kind: crash.Fail, At: at, Errno: syscall.EIO}}
			for _, f := range []crash.Fault{{Kind: crash.Kill, At: at}, others[at%len(others)]} {
				points = append(points, func() { x.run(f) })
			}
		}
	}
	if len(points) < 400 {
		t.Errorf("only %d points", len(points))
	}
	var run []func()
	for _, n := range crash.Points(t, len(points)) {
		run = append(run, points[n-1])
	}
	together(run)
}

// together runs functions a few at a time, because most of the time is spent waiting for the disk.
func together(all []func()) {
	next := make(chan func())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for f := range next {
				f()
			}
		})
	}
	for _, f := range all {
		next <- f
	}
	close(next)
	wg.Wait()
}

// crashing is a store that a fault is injected into.
type crashing struct {
	t       *testing.T
	data    []byte
	existed bool
}

// run injects a fault into a step of the history, and then checks the store.
func (x crashing) run(f crash.Fault) crash.Result {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		x.t.Error(err)
		return crash.Result{}
	}
	defer os.RemoveAll(dir)
	path, output := filepath.Join(dir, "store", "m.db"), filepath.Join(dir, "out")
	if x.existed {
		err = errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, x.data, 0o600))
	}
	self, missing := os.Executable()
	r, failed := crash.Run(crash.Program{Path: self, Args: []string{"program"}, Env: []string{"STORE_TEST_PATH=" + path, "GOMAXPROCS=1", "GOGC=off"}, Dir: dir, Output: output}, f)
	said, unread := os.ReadFile(output)
	if err := errors.Join(err, missing, failed, unread); err != nil {
		x.t.Errorf("%+v: %v", f, err)
		return r
	}
	if problem := x.problem(path, string(said), r); problem != "" {
		x.t.Errorf("%+v at %s, of %d: %s\n%s", f, r.Call, r.Calls, problem, said)
	}
	return r
}

// problem returns what is wrong with the store after the fault, or "".
func (x crashing) problem(path, said string, r crash.Result) string {
	done := strings.Count(said, "done\n")
	rest := strings.ReplaceAll(said, "done\n", "")
	switch {
	case r.Code == 0 && (done != 3 || rest != ""):
		return "it did not do all of it"
	case r.Code > 0 && (r.Code != 2 || !strings.HasPrefix(rest, "failed: ") || strings.Count(rest, "\n") != 1 || strings.Contains(rest, "|")):
		return "it did not say in a line what is wrong"
	}
	if Exists(path) || x.existed {
		if problem := holds(path, done, x.existed); problem != "" {
			return problem
		}
	} else if done > 0 {
		return "the store is gone"
	}
	s, err := Open(path)
	if err != nil {
		return "the next cannot open it: " + err.Error()
	}
	if err := errors.Join(s.Add(sample(7)), s.Close()); err != nil {
		return "the next cannot write it: " + err.Error()
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		return fmt.Sprintf("beside it are %v, %v", entries, err)
	}
	return ""
}

// holds returns "" if a store has the contents expected after done steps or after one more, and otherwise what is
// wrong.
func holds(path string, done int, existed bool) string {
	s, err := Read(path, time.Second)
	if err != nil {
		return "reading: " + err.Error()
	}
	defer s.Close()
	runs, err := s.List()
	if err != nil {
		return "reading: " + err.Error()
	}
	var got []uint64
	for _, r := range runs {
		got = append(got, r.Reserved)
	}
	slices.Sort(got)
	for steps := done; steps <= min(done+1, 3); steps++ {
		if slices.Equal(got, after(steps, existed)) {
			return ""
		}
	}
	return fmt.Sprintf("after %d steps it holds %v", done, got)
}
