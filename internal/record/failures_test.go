// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/run"
)

// A run that fails three times leaves the snapshots of its last two requests, and its exit code.
func TestWatchFailures(t *testing.T) {
	w := &world{t: t, train: func(j *job) run.Exit {
		settings, _ := os.ReadFile(filepath.Join(j.folder, "probe.json"))
		if !strings.Contains(string(settings), `"failures":2`) || !strings.Contains(string(settings), `"keep_running":true`) {
			t.Errorf("settings %s", settings)
		}
		write(t, filepath.Join(j.folder, "7-oom0.pickle"), "third")
		write(t, filepath.Join(j.folder, "7-oom1.pickle"), "second")
		j.tell(`start "time":1, "pid":7`, `oom "asked":5`, `kept "file":"7-oom0.pickle", "time":2`, `kept "file":"7-oom1.pickle", "time":3`, `kept "file":"7-oom0.pickle", "time":4`)
		return run.Exit{Code: 3}
	}}
	keep := filepath.Join(t.TempDir(), "kept")
	env := w.env()
	f, err := WatchFailures(context.Background(), env, Plan{Command: []string{"train"}, Failures: 2, Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	w.checkClean(env.TempDir)
	if diff := cmp.Diff([]string{filepath.Join(keep, "7-oom1.pickle"), filepath.Join(keep, "7-oom0.pickle")}, f.Snapshots); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(f.Snapshots[1]); err != nil || string(text) != "third" {
		t.Errorf("%q, %v", text, err)
	}
	var exit *ExitError
	if !errors.As(f.Err(), &exit) || exit.Code != 3 || f.Interrupted() != nil {
		t.Errorf("%v, %v", f.Err(), f.Interrupted())
	}
}

// A run without failed requests leaves nothing, not even the folder.
func TestWatchWithoutFailures(t *testing.T) {
	w := &world{t: t, train: func(*job) run.Exit { return run.Exit{} }}
	keep := filepath.Join(t.TempDir(), "kept")
	f, err := WatchFailures(context.Background(), w.env(), Plan{Command: []string{"train"}, Failures: 2, Keep: keep})
	if err != nil || f.Err() != nil || len(f.Snapshots) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := os.Stat(keep); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", keep, err)
	}
}

// Ctrl-C ends the run, and is not a failure of the command.
func TestWatchInterrupted(t *testing.T) {
	w := &world{t: t}
	w.train = func(j *job) run.Exit {
		w.signals <- syscall.SIGINT
		<-j.ended
		return run.Exit{Code: 130, Signal: syscall.SIGINT}
	}
	f, err := WatchFailures(context.Background(), w.env(), Plan{Command: []string{"train"}, Failures: 2, Keep: "kept"})
	if err != nil || !IsInterrupted(f.Interrupted()) || f.Interrupted().Error() != "interrupted" {
		t.Errorf("%+v, %v", f, err)
	}
}
