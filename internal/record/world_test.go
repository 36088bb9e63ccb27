// SPDX-License-Identifier: Apache-2.0

package record

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/store"
)

// world is a session's outside world in a test: no process is started, no signal is real, and the store is a slice.
// Only the files that a run leaves in its folder are on disk.
type world struct {
	t       *testing.T
	train   func(*job) run.Exit // runs instead of the command
	signals chan<- os.Signal    // the session's channel
	stopped bool                // the session no longer listens
	pauses  int
	noStore error // why the store cannot be opened
	rows    []store.Run

	mu   sync.Mutex
	said []string
}

// job is one run of the command.
type job struct {
	run.Command
	folder string // where the probe would report
	ended  chan os.Signal
}

func (w *world) env() Env {
	return Env{
		Environ: func() []string { return []string{"PATH=/bin", "HF_TOKEN=hf_abcdefghijklmnop"} },
		TempDir: w.t.TempDir(), Runner: w, Signals: w,
		Store:  func() (Store, error) { return w, w.noStore },
		Now:    func() time.Time { return time.Unix(1_700_000_000, 0) },
		Events: Events{Say: w.say},
	}
}

func (w *world) say(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// open opens a session that is closed when the test ends, and checks that nothing is left behind.
func (w *world) open(p Plan) *Session {
	w.t.Helper()
	env := w.env()
	s, err := Open(context.Background(), env, p)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		s.Close()
		w.checkClean(env.TempDir)
	})
	return s
}

func (w *world) checkClean(dir string) {
	w.t.Helper()
	if left, _ := os.ReadDir(dir); len(left) > 0 || !w.stopped {
		w.t.Errorf("left behind: %v; signals released: %v", left, w.stopped)
	}
}

func (w *world) Start(_ context.Context, c run.Command) (run.Process, error) {
	j := &job{Command: c, ended: make(chan os.Signal, 8)}
	for _, v := range c.Env {
		if folder, ok := strings.CutPrefix(v, "SNUG_RUN="); ok {
			j.folder = folder
		}
	}
	return &process{j, w.train}, nil
}

func (w *world) Notify(to chan<- os.Signal) { w.signals, w.stopped = to, false }
func (w *world) Stop(chan<- os.Signal)      { w.stopped = true }
func (w *world) Add(rows ...store.Run) error {
	w.rows = append(w.rows, rows...)
	return nil
}
func (w *world) Close() error { return nil }

// pause is the Ctrl-Z signal, also on systems without one.
type pause struct{}

func (pause) String() string { return "pause" }
func (pause) Signal()        {}

func (w *world) Pause(s os.Signal, _ chan<- os.Signal) bool {
	if s != (pause{}) {
		return false
	}
	w.pauses++
	return true
}

type process struct {
	*job
	train func(*job) run.Exit
}

func (p *process) Wait() run.Exit     { return p.train(p.job) }
func (p *process) Signal(s os.Signal) { p.ended <- s }
func (p *process) End(s os.Signal)    { p.ended <- s }
func (p *process) Sweep(bool)         {}

// tell writes lines of the probe's report. A line begins with its event: step "n":1.
func (j *job) tell(lines ...string) {
	var text strings.Builder
	for _, l := range lines {
		event, rest, more := strings.Cut(l, " ")
		if more {
			rest = ", " + rest
		}
		fmt.Fprintf(&text, "{\"event\": %q%s}\n", event, rest)
	}
	f, err := os.OpenFile(filepath.Join(j.folder, "7.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text.String())
		_ = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

// value returns the value of an option in the command, as in --batch 64.
func (j *job) value(option string) string {
	for i, w := range j.Args {
		if w == option {
			return j.Args[i+1]
		}
	}
	return ""
}

// trains returns a three-step run that leaves a real recording, made at the size of its --batch.
func trains(t *testing.T) func(*job) run.Exit {
	return func(j *job) run.Exit {
		batch := j.value("--batch")
		write(t, filepath.Join(j.folder, "7.pickle"), recording(t, batch))
		j.tell(
			`start "time":1, "pid":7`,
			`torch "versions":{"torch":"2.11.0+cu128"}`,
			`gpu "index":0, "name":"NVIDIA H200", "total":150323855360, "capability":90, "recording":true`,
			`step "n":1`, `step "n":2, "seconds":0.05`,
			`step "n":3, "seconds":0.05, "peak_allocated":1000, "peak_reserved":`+batch+`000000`,
			`snapshot "file":"7.pickle", "entries":[10]`,
			`end "why":"steps"`)
		return run.Exit{}
	}
}

func recording(t *testing.T, batch string) string {
	f, err := os.Open("../../testdata/measured/traces/two-tower-b" + batch + "-s128-amp-fp16-adamw-stacks.pickle.gz")
	if err != nil {
		t.Error(err)
		return ""
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Error(err)
		return ""
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// batches returns one point for each batch size.
func batches(sizes ...int64) []profile.Point {
	var out []profile.Point
	for _, n := range sizes {
		out = append(out, profile.Point{"batch": n})
	}
	return out
}
