// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"snug/internal/profile"
	"snug/internal/run"
)

// For every way a run can end: the message and snug's exit code; 0 is a plain error, - means that the run is usable.
func TestVerdict(t *testing.T) {
	const trained = `{"event":"torch","versions":{"torch":"2.11.0"}}
{"event":"step","n":1}
`
	for _, c := range []struct {
		name, report, tail string
		out                run.Outcome
		quiet              bool
		warning            string
		code               int
		want               string
	}{
		{name: "it trained", report: trained + `{"event":"snapshot","file":"x"}`, want: "-"},
		{name: "interrupted", out: run.Outcome{Stopped: syscall.SIGTERM}, code: 143, want: "interrupted; no profile was written"},
		{name: "too slow", out: run.Outcome{TimedOut: true}, want: "the command took 0 of 2 steps at batch=2 in 1m0s and was stopped; allow more time with --timeout, or use a smaller size"},
		{name: "out of memory", report: trained + `{"event":"oom","asked":1073741824}`, want: "the command ended at batch=2 after 1 of 2 steps: it ran out of GPU memory, asking for 1.00 GiB; record at a smaller size"},
		{name: "exception", report: trained + `{"event":"exception","type":"ValueError","what":"no\nway"}`, out: run.Outcome{Exit: run.Exit{Code: 1}}, code: 1, want: "the command failed with exit code 1 at batch=2 after 1 of 2 steps: ValueError: no"},
		{name: "killed", report: trained, out: run.Outcome{Exit: run.Exit{Code: 137, Signal: syscall.SIGKILL}}, code: 137, want: "the command was ended by signal 9 (killed) at batch=2 after 1 of 2 steps; the system does this when CPU memory is full"},
		{name: "on the CPU", report: trained + `{"event":"nogpu"}`, want: "the command took 1 step at batch=2 on the CPU, so there is no GPU memory to record; does it put its model on the GPU?"},
		{name: "no recording", report: trained + `{"event":"failure","where":"snapshot","what":"x"}`, want: "the command took 1 step at batch=2 and left no recording; it ended; the probe failed in snapshot (x)"},
		{name: "no GPU", report: `{"event":"torch","versions":{"torch":"2.11.0","cuda":"12.8"}}` + "\n" + `{"event":"end","why":"nogpu"}`, want: "the command trains at batch=2 without a GPU, so there is no GPU memory to record: PyTorch sees none here; run this on a machine with one"},
		{name: "no probe", out: run.Outcome{Unprobed: true}, want: "the command overwrites PYTHONPATH, so its Python does not load the probe; append to it instead, like PYTHONPATH=src:$PYTHONPATH"},
		{name: "no script", tail: "/usr/bin/python3: can't open file '/x/train.py': [Errno 2] No such file", out: run.Outcome{Exit: run.Exit{Code: 2}}, code: 2, want: "Python did not find /x/train.py; is that the right path, from this folder?"},
		{name: "no torch", report: `{"event":"start","pid":7}`, tail: "ModuleNotFoundError: No module named 'torch'", out: run.Outcome{Exit: run.Exit{Code: 1}}, code: 1, want: "this command's Python has no torch; is the right environment active?"},
		{name: "out of memory at once", report: `{"event":"oom"}`, out: run.Outcome{Exit: run.Exit{Code: 1}}, code: 1, want: "the command ran out of GPU memory before its first step; record at a smaller size, and failed with exit code 1"},
		{name: "no step", report: `{"event":"torch","versions":{"torch":"2.11.0"}}`, want: "the command imported torch, but no optimizer took a step; is this the command that trains?"},
		{name: "no step, failed", report: `{"event":"torch","versions":{"torch":"2.11.0"}}` + "\n" + `{"event":"exception","type":"EOFError","what":"x"}`, out: run.Outcome{Exit: run.Exit{Code: 1}}, code: 1, want: "the command imported torch, but no optimizer took a step, and failed with exit code 1: EOFError: x; it asked for input, which is not available here"},
		{name: "Python", report: `{"event":"start","pid":7}`, want: "the command ran Python, but never imported torch where the probe could see it; is this the command that trains?"},
		{name: "no Python", want: "the command started no Python that would load the probe; is this the command that trains, and does the environment (PYTHONPATH) reach its Python?"},
		{name: "no Python, unseen", tail: "usage:\n  wrong option\n", quiet: true, out: run.Outcome{Exit: run.Exit{Code: 64}}, code: 64, want: "the command started no Python that would load the probe, and failed with exit code 64: wrong option"},
		{name: "a launcher", warning: "it starts containers", want: "the command ran without the probe: it starts containers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Session{plan: Plan{Steps: 2, Timeout: time.Minute, Quiet: c.quiet}}
			s.binder.launch.Warning = c.warning
			if c.want == "-" {
				s.plan.Steps = 1
			}
			x := &Trial{At: profile.Point{"batch": 2}, session: s, command: &command{files: userFiles{newProject(nil)}}}
			if c.report != "" {
				c.out.Reports = []*run.Report{run.ReadReport([]byte(c.report))}
			}
			c.out.Tail = []byte(c.tail)
			x.collect(&c.out)
			err := x.Err()
			if c.want == "-" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var exit *ExitError
			code := 0
			if errors.As(err, &exit) {
				code = exit.Code
			}
			if err == nil || err.Error() != c.want || code != c.code {
				t.Errorf("%d, %v\nwant %d, %s", code, err, c.code, c.want)
			}
		})
	}
}

// Of the processes that trained, the one that reserved the most is used.
func TestCollect(t *testing.T) {
	out := &run.Outcome{}
	for _, text := range []string{
		`{"event":"start","pid":1}`,
		`{"event":"step","n":1,"peak_reserved":10}`,
		`{"event":"step","n":1,"peak_reserved":30}`,
		`{"event":"step","n":1,"peak_reserved":20}`,
	} {
		out.Reports = append(out.Reports, run.ReadReport([]byte(text)))
	}
	x := &Trial{session: &Session{plan: Plan{Steps: 1}}}
	x.collect(out)
	if x.Processes != 3 || x.Report != out.Reports[2] {
		t.Errorf("%d processes, %+v", x.Processes, x.Report)
	}
}

// Only usable runs have notes, and no note contains a secret.
func TestVerdictNotes(t *testing.T) {
	w := &world{t: t}
	s := w.open(Plan{Command: []string{"train"}, Steps: 2})
	x, err := s.Bind(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.collect(&run.Outcome{Reports: []*run.Report{run.ReadReport([]byte(strings.Join([]string{
		`{"event":"torch","versions":{"torch":"2.11.0"}}`, `{"event":"step","n":1}`, `{"event":"snapshot","file":"x"}`,
		`{"event":"failure","where":"batch","what":"got hf_abcdefghijklmnop"}`,
	}, "\n")))}})
	want := []string{"the probe failed in batch (got ***); the run continued without it", "the command ended by itself after 1 of 2 steps"}
	if x.Err() != nil || len(x.Notes) != 2 || x.Notes[0] != want[0] || x.Notes[1] != want[1] {
		t.Errorf("%v, %q", x.Err(), x.Notes)
	}
	if got := interrupted(os.Signal(pause{})).Error(); got != "interrupted; no profile was written" {
		t.Error(got)
	}
}
