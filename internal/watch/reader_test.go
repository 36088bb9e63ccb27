// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrongLines checks what is said about lines that cannot be read.
func TestWrongLines(t *testing.T) {
	for text, want := range map[string]string{
		`{"t":0,"kind":"step","step":1,"allocated":1e300}`: `line 1: "allocated" cannot be a number 1e300`,
		`{"t":0,"kind":"step","step":1,"shape":"8x512"}`:   `line 1: "shape" cannot be a string`,
		`{"t":0,"kind":"step","step":1,"allocated":-5}`:    `line 1: "allocated" is -5, which is not a memory size`,
		`{"t":0,"kind":"step","allocated":5}`:              `line 1: "step" is missing`,
		`{"t":0,"step":1,"allocated":5}`:                   `line 1: "kind" is missing`,
		`{"t":0,"kind":"step","step":1,"shape":[8,-1]}`:    `line 1: "shape" is [8 -1], but no size is negative`,
		`[1, 2]`:   `line 1: it is a JSON array, not an object`,
		`loss 2.3`: `line 1: invalid character`,
		`{"t":0,"kind":"start","x":"` + strings.Repeat("a", 2<<20): `line 1 is longer than 1048576 bytes`,
	} {
		r, err := NewReader(strings.NewReader(text + "\n" + `{"t":1,"kind":"end"}` + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// read returns the events of a recording and what is said about it.
func read(t *testing.T, lines ...string) (events []Event, notes string) {
	t.Helper()
	r, err := NewReader(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, strings.Join(r.Notes(), "; ")
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

// TestSkippedLines checks what is read, and what is said, if a part of a recording cannot be read.
func TestSkippedLines(t *testing.T) {
	const start, step, end = `{"t":0,"kind":"start"}`, `{"t":1,"kind":"step","step":1,"allocated":5}`, `{"t":2,"kind":"end"}`
	tests := map[string]struct {
		lines  []string
		events int
		notes  string
	}{
		"nothing":          {[]string{start, step, end}, 3, ""},
		"cut at the end":   {[]string{start, step, `{"t":2,"ki`}, 2, "the recording stops in the middle of line 3; everything before it was read"},
		"a full disk":      {[]string{start, `{"t":1,"ki`, step, end}, 3, "1 line is not JSON and was skipped, first line 2; the disk may have been full"},
		"twice":            {[]string{start, `{"t":1,"ki`, step, `{"t"`, end, "{"}, 3, "2 lines are not JSON and were skipped, first line 2; the disk may have been full; the recording stops in the middle of line 6; everything before it was read"},
		"unknown kinds":    {[]string{start, `{"t":1,"kind":"tpu"}`, `{"t":1,"kind":"tpu"}`, end}, 2, `2 lines of unknown kind "tpu" were skipped; a newer snug may have written them`},
		"unknown fields":   {[]string{start, `{"t":1,"kind":"step","step":1,"alocated":5,"gpu":3,"Reserved":7}`, end}, 3, "fields that snug does not know were ignored: step.alocated, step.gpu"},
		"of processes":     {[]string{`{"t":1,"kind":"gpu","gpu":0,"procs":[{"pid":1,"used":5,"sm":3}]}`, end}, 2, "fields that snug does not know were ignored: procs.sm"},
		"times go back":    {[]string{`{"t":4000,"kind":"start"}`, `{"t":4001,"kind":"step","step":1}`, `{"t":401,"kind":"step","step":2}`, `{"t":402,"kind":"end"}`}, 4, "the times go back in line 3; they continue from before that"},
		"out of order":     {[]string{`{"t":40,"kind":"start"}`, `{"t":39,"kind":"step","step":1}`, end}, 3, ""},
		"one run, another": {[]string{`{"t":4000,"kind":"start"}`, `{"t":4001,"kind":"end"}`, start, step, end}, 5, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			events, notes := read(t, tt.lines...)
			if len(events) != tt.events || notes != tt.notes {
				t.Errorf("%d events; %s", len(events), notes)
			}
			for i := 1; i < len(events); i++ {
				if events[i].T < events[i-1].T-jumpedBack {
					t.Errorf("event %d is at %g s, after %g s", i, events[i].T, events[i-1].T)
				}
			}
		})
	}
}

// TestJoinedRecordings checks that a run after the end of another is watched on its own.
func TestJoinedRecordings(t *testing.T) {
	events := append(recording(t, "leak_graph"), recording(t, "good")...)
	want := []State{WarmingUp, Leaking, OutOfMemory, WarmingUp, Good, Ended}
	if diff := cmp.Diff(want, states(events)); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyAllocated checks the forecast for a leak if steps report nothing but allocated memory: what else they need follows from the
// driver's count, which is no leak outside PyTorch.
func TestOnlyAllocated(t *testing.T) {
	g := generated{seed: 3, steps: 4000, stays: 0.2, takes: 0.15, leak: everyStep(0.001), noise: 0.0002}
	events, oom := g.events()
	w := New(Options{})
	for _, e := range events {
		if e.Kind == KindStep {
			used := e.Step.Reserved + 1<<29
			w.Add(Event{T: e.T, Kind: KindGPU, GPU: GPU{Total: genCard + 1<<29, Used: used, Procs: []Process{{PID: 1, Used: used}}}})
			e.Step = Step{N: e.Step.N, Phase: Train, Allocated: e.Step.Allocated}
		}
		r, _ := w.Add(e)
		if e.Kind != KindStep || r.Step < oom/2 {
			continue
		}
		if r.StepsToOOM == nil || math.Abs(float64(r.Step+r.StepsToOOM[1]-oom)) > 0.2*float64(oom) || !strings.HasPrefix(r.Why, "allocated memory") {
			t.Fatalf("at step %d of %d: %+v", r.Step, oom, r)
		}
	}
}

// TestLastAdvice checks that the advice at the end belongs to the state that the last line names.
func TestLastAdvice(t *testing.T) {
	w := New(Options{})
	for _, e := range recording(t, "watched_two_b") {
		w.Add(e)
	}
	if r := w.Now(); !strings.Contains(r.Why, "before that: other-process") || !strings.HasPrefix(r.Advice, "see what process") {
		t.Errorf("got %+v", r)
	}
}
