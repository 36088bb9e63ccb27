// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
)

// A session runs whatever is bound in it, one batch size after the other. A run that does not fit is a valid result,
// and the next one still runs.
func TestLadder(t *testing.T) {
	w := &world{t: t, train: func(j *job) run.Exit {
		if j.value("--batch") == "64" {
			return trains(t)(j)
		}
		j.tell(`start "time":1, "pid":7`, `torch "versions":{"torch":"2.11.0"}`, `step "n":1`, `oom "asked":2147483648`)
		return run.Exit{Code: 1}
	}}
	s := w.open(Plan{Command: []string{"train", "--batch", "{batch}", "--checkpointing={checkpointing}"}, Steps: 3})
	for _, c := range []struct {
		batch int64
		fits  bool
	}{{128, false}, {64, true}} {
		x, err := s.Bind(profile.Point{"batch": c.batch}, setup.Assign("checkpointing", true))
		if err != nil {
			t.Fatal(err)
		}
		if x.OutOfMemory() != nil || x.GPU() != nil || x.Err() != nil {
			t.Error("it has a verdict before it has run")
		}
		if want := " --checkpointing=true"; !strings.HasSuffix(x.CommandLine(), want) {
			t.Errorf("%q does not end in %q", x.CommandLine(), want)
		}
		if err := s.Run(context.Background(), x); err != nil {
			t.Fatal(err)
		}
		if fits := x.OutOfMemory() == nil; fits != c.fits || (x.Err() == nil) != c.fits {
			t.Errorf("at %d: fits %v, %v", c.batch, fits, x.Err())
		}
		if err := x.Discard(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(x.folder.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its folder is still there: %v", err)
		}
	}
}

// What the probe reports is passed on while the run continues.
func TestLive(t *testing.T) {
	seen := make(chan int, 100)
	w := &world{t: t, train: func(j *job) run.Exit {
		j.tell(`start "time":1, "pid":7`, `torch "versions":{"torch":"2.11.0"}`)
		for n, step := range []string{`step "n":1, "reserved":10`, `step "n":2, "reserved":20`} {
			j.tell(step)
			for {
				select {
				case got := <-seen:
					if got != n+1 {
						continue
					}
				case <-j.ended:
				}
				break
			}
		}
		return run.Exit{}
	}}
	env := w.env()
	var reserved uint64
	env.Events.Stepped = func(_ *Trial, steps int) { seen <- steps }
	env.Events.Reported = func(_ *Trial, reports []*run.Report) {
		for _, x := range reports {
			for _, step := range x.Steps {
				reserved = max(reserved, step.Reserved)
			}
		}
	}
	s, err := Open(context.Background(), env, Plan{Command: []string{"train"}, Steps: 100, KeepRunning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := s.Bind(nil, nil)
	if err == nil {
		err = s.Run(context.Background(), x)
	}
	if err != nil || len(x.Report.Steps) != 2 || reserved != 20 {
		t.Errorf("%v, %+v, %d seen", err, x.Report, reserved)
	}
}

// stuck is a driver that does not answer.
type stuck struct{ asked chan struct{} }

func (stuck) Name() string     { return "stuck" }
func (stuck) Maker() gpu.Maker { return gpu.NVIDIA }
func (s stuck) Report(context.Context) (*gpu.Report, error) {
	close(s.asked)
	select {}
}

// Ctrl-C does not wait for a driver, and Ctrl-Z ends nothing.
func TestInterruptedBeforeTheRun(t *testing.T) {
	w := &world{t: t}
	env, driver := w.env(), stuck{make(chan struct{})}
	env.GPUs = []gpu.Source{driver}
	go func() {
		<-driver.asked
		w.signals <- pause{}
		w.signals <- syscall.SIGTERM
	}()
	_, err := Open(context.Background(), env, Plan{Command: []string{"train"}, Steps: 1})
	var exit *ExitError
	if !IsInterrupted(err) || !errors.As(err, &exit) || exit.Code != 143 || w.pauses != 1 {
		t.Errorf("%v after %d pauses", err, w.pauses)
	}
	w.checkClean(env.TempDir)
}

// A signal during a run ends it, and is passed on as the exit code.
func TestInterrupted(t *testing.T) {
	w := &world{t: t}
	w.train = func(j *job) run.Exit {
		w.signals <- os.Interrupt
		<-j.ended
		return run.Exit{Code: 1}
	}
	s := w.open(Plan{Command: []string{"train"}, Steps: 1})
	x, err := s.Bind(nil, nil)
	if err == nil {
		err = s.Run(context.Background(), x)
	}
	var exit *ExitError
	if err != nil || !IsInterrupted(x.Err()) || !errors.As(x.Err(), &exit) || exit.Code != 130 {
		t.Errorf("%v, %v", err, x.Err())
	}
	if IsInterrupted(exitError(run.Exit{Code: 130}, "the command's own")) {
		t.Error("a command's exit code was treated as a signal")
	}
}

// Standard input that is a file is rewound for every run.
func TestInputIsReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	write(t, name, "header\nrest")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, len("header\n"))); err != nil {
		t.Fatal(err)
	}
	var read []string
	w := &world{t: t, train: func(j *job) run.Exit {
		text, _ := io.ReadAll(j.Stdin)
		read = append(read, string(text))
		return run.Exit{}
	}}
	env := w.env()
	env.Stdin = f
	s, err := Open(context.Background(), env, Plan{Command: []string{"train"}, Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		x, err := s.Bind(nil, nil)
		if err == nil {
			err = s.Run(context.Background(), x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(read) != 2 || read[0] != "rest" || read[1] != "rest" {
		t.Errorf("%q", read)
	}
}

// Problems that would surface after the runs are reported before them, and nothing is left behind.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "train.py"), "print()")
	write(t, filepath.Join(dir, "old.snug"), "snugmem\nold")
	in := func(name string) string { return filepath.Join(dir, name) }
	varied := []string{"train", "{batch}"}
	for want, p := range map[string]Plan{
		"there is no command to record":        {Steps: 1},
		"cannot record 0 steps":                {Command: varied},
		"the folder ":                          {Command: varied, Steps: 1, Sizes: batches(2, 3), Out: in("no/memory.snug")},
		"it is a folder; name a file":          {Command: varied, Steps: 1, Sizes: batches(2, 3), Out: dir},
		"the file exists and is not a profile": {Command: varied, Steps: 1, Sizes: batches(2, 3), Out: in("train.py")},
		"it is a file; name a folder":          {Command: varied, Steps: 1, Sizes: batches(2, 3), Out: in("old.snug"), Keep: in("train.py")},
		"which --vary does not set":            {Command: []string{"train", "{batch}", "{depth}"}, Steps: 1, Sizes: batches(2, 3), Out: in("new.snug")},
		"sets variables but starts":            {Command: []string{"A=1"}, Steps: 1, Sizes: []profile.Point{{}}},
		"is not a setting of config files":     {Command: varied, Steps: 1, Sizes: []profile.Point{{"batch": 2, "depth": 3}}, Out: in("new.snug")},
		"the training command in its own":      {Command: []string{"docker", "run", "image"}, Steps: 1},
	} {
		w := &world{t: t, stopped: true}
		env := w.env()
		s, err := Open(context.Background(), env, p)
		if err == nil {
			s.Close()
		}
		if want == "the training command in its own" { // this message comes from internal/run
			want = run.ReadLaunch(p.Command).Warning
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		w.checkClean(env.TempDir)
	}
	if _, err := os.Stat(in("new.snug")); err == nil {
		t.Error("a profile was written")
	}
}
