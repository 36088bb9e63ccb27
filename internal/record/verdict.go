// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"snug/internal/run"
	"snug/internal/units"
)

// verdict returns why a run is unusable, or nil. See no_steps.go for runs without any step.
func (t *Trial) verdict() error {
	out, steps := t.Outcome, t.session.plan.Steps
	for _, x := range out.Reports {
		for _, f := range x.Failures {
			t.note("the probe failed in %s (%s); the run continued without it", f.Where, f.What)
		}
	}
	switch {
	case out.Stopped != nil:
		return interrupted(out.Stopped)
	case out.TimedOut:
		return fmt.Errorf("%s; allow more time with --timeout, or use a smaller size", t.tooSlow())
	case t.Report == nil:
		return t.noSteps()
	}
	short := len(t.Report.Steps) < steps
	switch {
	case short && (out.Exit.Code != 0 || t.Report.OOM != nil):
		return exitError(out.Exit, t.failedEarly())
	case t.Report.NoGPU:
		return fmt.Errorf("the command took %s%s on the CPU, so there is no GPU memory to record; does it put its model on the GPU?", stepCount(len(t.Report.Steps)), t.AtSize())
	case t.Report.Snapshot == nil && t.session.plan.Measure == nil:
		return exitError(out.Exit, t.noRecording())
	case short:
		t.note("the command ended by itself after %d of %d steps%s", len(t.Report.Steps), steps, t.AtSize())
	case out.Exit.Code != 0 && !out.Lingered:
		t.note("after its %d recorded steps the command %s%s", steps, out.Exit, t.AtSize())
	}
	return nil
}

func (t *Trial) note(format string, args ...any) {
	t.Notes = append(t.Notes, t.session.secrets.Hide(fmt.Sprintf(format, args...)))
}

func (t *Trial) tooSlow() string {
	steps, plan := 0, t.session.plan
	if t.Report != nil {
		steps = len(t.Report.Steps)
	}
	return fmt.Sprintf("the command took %d of %d steps%s in %v and was stopped", steps, plan.Steps, t.AtSize(), plan.Timeout)
}

// failedEarly describes the end of a run that trained but ended before it completed its steps.
func (t *Trial) failedEarly() string {
	x, exit := t.Report, t.Outcome.Exit
	did := fmt.Sprintf("the command %s%s after %d of %d steps", exit, t.AtSize(), len(x.Steps), t.session.plan.Steps)
	switch {
	case x.OOM != nil:
		return fmt.Sprintf("%s: it ran out of GPU memory, asking for %v; record at a smaller size", did, units.Bytes(x.OOM.Asked))
	case x.Crash != nil:
		return did + ": " + crashText(x.Crash)
	case exit.Signal == syscall.SIGKILL:
		return did + "; the system does this when CPU memory is full"
	}
	return did
}

// noRecording describes a run that took its steps but left no snapshot.
func (t *Trial) noRecording() string {
	why := ""
	for _, f := range t.Report.Failures {
		why = fmt.Sprintf("; the probe failed in %s (%s)", f.Where, f.What)
	}
	return fmt.Sprintf("the command took %s%s and left no recording; it %s%s", stepCount(len(t.Report.Steps)), t.AtSize(), t.Outcome.Exit, why)
}

func stepCount(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

// crashText returns the exception that ended a process, on one line.
func crashText(f *run.Failure) string {
	what := strings.TrimSpace(f.What)
	if first, _, more := strings.Cut(what, "\n"); more {
		what = first
	}
	if f.Type == "EOFError" { // raised by input()
		what += "; it asked for input, which is not available here"
	}
	return f.Type + ": " + what
}

// stacksMayBeToBlame reports whether the last run ended in a way that recording stacks inside the allocator could
// cause: Python's error for a lost exception, a signal that users do not send, or, under a launcher, a process that
// vanished silently.
func stacksMayBeToBlame(trials []*Trial) bool {
	i := slices.IndexFunc(trials, func(t *Trial) bool { return t.Outcome == nil })
	if i < 0 {
		i = len(trials)
	}
	if i == 0 {
		return false
	}
	out := trials[i-1].Outcome
	if out.Exit.Code == 0 || out.Stopped != nil || out.TimedOut {
		return false
	}
	explained, vanished, lostException := false, false, false
	for _, x := range out.Reports {
		explained = explained || x.OOM != nil || x.Crash != nil
		vanished = vanished || x.Versions != nil && x.End == ""
		lostException = lostException || x.Crash != nil && x.Crash.Type == "SystemError"
	}
	return lostException || !explained && (vanished || out.Exit.Crashed())
}
