// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"snug/internal/crash"
	"snug/internal/store"
)

// standIn writes the probe's output, from a real recording, into its folder.
const standIn = `
cp "$RECORDED/$1.pickle" "$SNUG_RUN/7.pickle"
cat > "$SNUG_RUN/7.jsonl" <<END
{"event":"start","time":1,"pid":7}
{"event":"torch","versions":{"torch":"2.11.0"}}
{"event":"gpu","index":0,"name":"NVIDIA H200","total":150323855360,"capability":90,"recording":true}
{"event":"step","n":1}
{"event":"step","n":2}
{"event":"step","n":3,"peak_allocated":3385896960,"peak_reserved":3957325824}
{"event":"snapshot","file":"7.pickle","entries":[10]}
{"event":"end","why":"steps"}
END
`

// Kill snug profile at any of its system calls, or make the call fail. The user's files must be the old
// ones or the new ones, earlier measurements must be kept, and after the next start nothing may be left
// behind.
func TestProfileCrash(t *testing.T) {
	if !crash.Supported() {
		t.Skip("programs cannot be traced here")
	}
	x := newCrashing(t)
	calls := x.run(crash.Fault{}).Calls
	var faults []crash.Fault
	for at := 1; at <= calls+1; at++ {
		others := []crash.Fault{{Kind: crash.Tear, At: at}, {Kind: crash.Fail, At: at, Errno: syscall.ENOSPC}, {Kind: crash.Fail, At: at, Errno: syscall.EACCES}}
		faults = append(faults, crash.Fault{Kind: crash.Kill, At: at}, others[at%len(others)])
	}
	if len(faults) < 200 {
		t.Errorf("only %d points", len(faults))
	}
	next := make(chan crash.Fault)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for f := range next {
				x.run(f)
			}
		})
	}
	for _, n := range crash.Points(t, len(faults)) {
		next <- faults[n-1]
	}
	close(next)
	wg.Wait()
}

// crashing is a project that snug profile is run in.
type crashing struct {
	t          *testing.T
	program    string
	recorded   string // the folder with the recordings
	recordings map[string][]byte
	before     []byte // the existing profile
	after      []byte // the expected new profile
}

func newCrashing(t *testing.T) *crashing {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &crashing{t: t, program: program, recorded: t.TempDir(), recordings: map[string][]byte{}, before: []byte("snugmem\nthe old one")}
	for _, size := range []string{"64", "96"} {
		f, err := os.Open("../../testdata/measured/traces/two-tower-b" + size + "-s128-amp-fp16-adamw-stacks.pickle.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if x.recordings[size], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(x.recorded, size+".pickle"), x.recordings[size], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// run injects a fault into one run of snug profile, and checks what it leaves behind.
func (x *crashing) run(f crash.Fault) crash.Result {
	dir, err := os.MkdirTemp("", "crashing")
	if err != nil {
		x.t.Error(err)
		return crash.Result{}
	}
	defer os.RemoveAll(dir)
	p := place{x, dir}
	r, err := p.profile(f)
	if err == nil {
		err = p.left(r)
	}
	if err == nil {
		err = p.nextStart()
	}
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "said"))
		x.t.Errorf("%+v at %s, of %d: %v\n%s", f, r.Call, r.Calls, err, said)
	}
	return r
}

// place is a folder with a project, a store and a folder for temporary files.
type place struct {
	*crashing
	dir string
}

func (p place) at(parts ...string) string { return filepath.Join(append([]string{p.dir}, parts...)...) }

func (p place) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.at("tmp"), "SNUG_STORE=" + p.at("data", "m.db"), "RECORDED=" + p.recorded, "LANG=C.UTF-8", "GOMAXPROCS=1", "GOGC=off"} // fewer system calls to trace
}

// profile creates the place and runs snug profile in it.
func (p place) profile(f crash.Fault) (crash.Result, error) {
	for _, folder := range []string{"tmp", "data", "project", "project/kept"} {
		if err := os.Mkdir(p.at(folder), 0o700); err != nil {
			return crash.Result{}, err
		}
	}
	s, err := store.Open(p.at("data", "m.db"))
	if err != nil {
		return crash.Result{}, err
	}
	err = errors.Join(
		s.Add(store.Run{At: 1, Card: "A", Torch: "2.11", Model: "m", Reserved: 1}), s.Close(),
		os.WriteFile(p.at("project", "train.sh"), []byte(standIn), 0o600),
		os.WriteFile(p.at("project", "memory.snug"), p.before, 0o600),
		os.WriteFile(p.at("project", "kept", "batch=64.pickle"), []byte("the old one"), 0o600))
	if err != nil {
		return crash.Result{}, err
	}
	return crash.Run(crash.Program{
		Path: p.program, Args: []string{"snug", "profile", "-q", "--vary", "batch=64,96", "--keep", "kept", "--", "sh", "train.sh", "{batch}"},
		Env: p.env(), Dir: p.at("project"), Output: p.at("said"),
	}, f)
}

// left returns an error if the files after a run are wrong.
func (p place) left(r crash.Result) error {
	said, _ := os.ReadFile(p.at("said"))
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	switch last := lines[len(lines)-1]; {
	case bytes.Contains(said, []byte("goroutine ")):
		return errors.New("it panicked")
	case r.Code > 0 && (r.Code != exitFailed || !strings.HasPrefix(last, "snug: ")):
		return fmt.Errorf("it ended with %d and %q", r.Code, last)
	}
	now, err := os.ReadFile(p.at("project", "memory.snug"))
	if p.after == nil && r.Call == "" {
		p.after = now
	}
	if err != nil || !bytes.Equal(now, p.before) && !bytes.Equal(now, p.after) {
		return fmt.Errorf("the profile is neither the old nor the new one, %w", err)
	}
	for _, size := range []string{"64", "96"} {
		now, err := os.ReadFile(p.at("project", "kept", "batch="+size+".pickle"))
		isOld := size == "64" && string(now) == "the old one" || size == "96" && os.IsNotExist(err)
		if !isOld && !bytes.Equal(now, p.recordings[size]) {
			return fmt.Errorf("the recording at %s is neither the old nor the new one, %w", size, err)
		}
	}
	if r.Code == 0 && r.Call == "" && !bytes.Equal(now, p.after) {
		return errors.New("nothing was written")
	}
	return p.remembered()
}

// remembered checks that the earlier run is stored, and either both new runs or neither.
func (p place) remembered() error {
	s, err := store.Read(p.at("data", "m.db"), time.Second)
	if err != nil {
		return err
	}
	defer s.Close()
	runs, err := s.List()
	if err == nil && (len(runs) != 1 && len(runs) != 3 || runs[0].Card != "A") {
		err = fmt.Errorf("the store contains %+v", runs)
	}
	return err
}

// nextStart starts snug once more; after that only the user's files may exist.
func (p place) nextStart() error {
	works, _ := filepath.Glob(p.at("tmp", "snug-profile-*"))
	for _, w := range works { // wait until no process is creating or removing it
		old := time.Now().Add(-time.Minute)
		_ = os.Chtimes(w, old, old)
	}
	next := exec.Command(p.program, "profile", "--", "true")
	next.Args[0], next.Dir, next.Env = "snug", p.at("project"), p.env()
	_ = next.Run()
	var found []string
	err := filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() || e != nil && strings.Contains(e.Name(), "snug-") {
			found = append(found, strings.TrimPrefix(path, p.dir+"/"))
		}
		return err
	})
	known := []string{"data/m.db", "data/m.db-journal", "project/kept/batch=64.pickle", "project/kept/batch=96.pickle", "project/memory.snug", "project/train.sh", "said"}
	if more := slices.DeleteFunc(found, func(name string) bool { return slices.Contains(known, name) }); len(more) > 0 {
		err = errors.Join(err, fmt.Errorf("there is also %v", more))
	}
	return err
}
